//! The large flat document of the public ODM benchmark.

use bson::Binary;
use odm::Model;
use serde::{Deserialize, Serialize};

use super::documents::read;

/// `large_doc.json` of the public benchmark's flat models: 250 short fields and an image of 2.4 MB.
#[rustfmt::skip]
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "large")]
pub(crate) struct Large {
    #[serde(rename = "_id", default)]
    pub(crate) key: i64,
    pub(crate) field1: String, field2: String, field3: String, field4: String, field5: String,
    field6: String, field7: String, field8: String, field9: String, field10: String,
    field11: String, field12: String, field13: String, field14: String, field15: String,
    field16: String, field17: String, field18: String, field19: String, field20: String,
    field21: String, field22: String, field23: String, field24: String, field25: String,
    field26: String, field27: String, field28: String, field29: String, field30: String,
    field31: String, field32: String, field33: String, field34: String, field35: String,
    field36: String, field37: String, field38: String, field39: String, field40: String,
    field41: String, field42: String, field43: String, field44: String, field45: String,
    field46: String, field47: String, field48: String, field49: String, field50: String,
    field51: String, field52: String, field53: String, field54: String, field55: String,
    field56: String, field57: String, field58: String, field59: String, field60: String,
    field61: String, field62: String, field63: String, field64: String, field65: String,
    field66: String, field67: String, field68: String, field69: String, field70: String,
    field71: String, field72: String, field73: String, field74: String, field75: String,
    field76: String, field77: String, field78: String, field79: String, field80: String,
    field81: String, field82: String, field83: String, field84: String, field85: String,
    field86: String, field87: String, field88: String, field89: String, field90: String,
    field91: String, field92: String, field93: String, field94: String, field95: String,
    field96: String, field97: String, field98: String, field99: String, field100: String,
    field101: String, field102: String, field103: String, field104: String, field105: String,
    field106: String, field107: String, field108: String, field109: String, field110: String,
    field111: String, field112: String, field113: String, field114: String, field115: String,
    field116: String, field117: String, field118: String, field119: String, field120: String,
    field121: String, field122: String, field123: String, field124: String, field125: String,
    field126: i32, field127: i32, field128: i32, field129: i32, field130: i32, field131: i32,
    field132: i32, field133: i32, field134: i32, field135: i32, field136: i32, field137: i32,
    field138: i32, field139: i32, field140: i32, field141: i32, field142: i32, field143: i32,
    field144: i32, field145: i32, field146: i32, field147: i32, field148: i32, field149: i32,
    field150: i32, field151: i32, field152: i32, field153: i32, field154: i32, field155: i32,
    field156: i32, field157: i32, field158: i32, field159: i32, field160: i32, field161: i32,
    field162: i32, field163: i32, field164: i32, field165: i32, field166: i32, field167: i32,
    field168: i32, field169: i32, field170: i32, field171: i32, field172: i32, field173: i32,
    field174: i32, field175: i32, field176: i32, field177: i32, field178: i32, field179: i32,
    field180: i32, field181: i32, field182: i32, field183: i32, field184: i32, field185: i32,
    field186: i32, field187: i32, field188: i32, field189: i32, field190: i32, field191: i32,
    field192: i32, field193: i32, field194: i32, field195: i32, field196: i32, field197: i32,
    field198: i32, field199: i32, field200: i32, field201: i32, field202: i32, field203: i32,
    field204: i32, field205: i32, field206: i32, field207: i32, field208: i32, field209: i32,
    field210: i32, field211: i32, field212: i32, field213: i32, field214: i32, field215: i32,
    field216: i32, field217: i32, field218: i32, field219: i32, field220: i32, field221: i32,
    field222: i32, field223: i32, field224: i32, field225: i32, field226: i32, field227: i32,
    field228: i32, field229: i32, field230: i32, field231: i32, field232: i32, field233: i32,
    field234: i32, field235: i32, field236: i32, field237: i32, field238: i32, field239: i32,
    field240: i32, field241: i32, field242: i32, field243: i32, field244: i32, field245: i32,
    field246: i32, field247: i32, field248: i32, field249: i32, field250: i32,
    image_field: Binary,
}

impl Large {
    /// The document of the shared data, where it is there.
    pub(crate) fn read() -> Option<Large> {
        read("bench/flat_models.tgz", "flat-models/large_doc.json")
    }

    pub(crate) fn with_id(&self, key: i64) -> Large {
        Large { key, ..self.clone() }
    }
}
