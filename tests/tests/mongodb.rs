//! Every case of the suite on `mongodb`.

odm_tests::for_every_case!(MongoDb);
