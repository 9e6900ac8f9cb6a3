//! Every case of the suite on `native`.

odm_tests::for_every_case!(Native);
