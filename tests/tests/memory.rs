//! Every case of the suite on `memory`.

odm_tests::for_every_case!(Memory);
