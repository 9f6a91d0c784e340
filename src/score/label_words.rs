//! What the words beside a label say of it, in English and Chinese. A label that is a Chinese or Japanese word may be negated
//! within its own word.

use std::sync::LazyLock;

use regex::Regex;

/// What announces a label: `answer B`, `I choose B`.
const ANSWER: &str =
    r"\banswer|答案|[选選][择擇]?|\bboxed|\bi(?: would| will|['’]d|['’]ll)? (?:choose|pick|select|say|go with)";

/// What announces it only with `is` or a colon: `best option: B`.
const OPTION: &str = r"\banswer (?:to|for) [^.,;:!?\n]{1,60}?|\b(?:correct|right|best|final|my) (?:option|choice|one)|正确的?(?:选项|項|项)?";

const IS: &str = r"(?:is|are|be)\b|是|[为為]|[:：=]";

/// Words that may stand beside `is`.
const FILLER: &str = r"should|would|will|must|to|the|one|option|choice|letter|indeed|correct|most|therefore|thus|hence|[a-z]+ly|text[a-z]*|math[a-z]+|选项|選項|应该?|显然|的";

/// What may stand between such words.
const GAP: &str = r"[^\p{L}\p{N}.,;!?。，；、]*";

/// Between an announcement and its label.
fn filler() -> String {
    format!("{GAP}(?:(?:{FILLER}){GAP})*")
}

/// An announcement that says what the answer is.
fn announced_with_is() -> String {
    format!("(?:{ANSWER}|{OPTION}){}(?:{IS}){GAP}(?:(?:{FILLER}|{IS}){GAP})*", filler())
}

/// An announcement directly before a label. Groups would cost far more here, because this is asked for each label.
pub(super) static ANNOUNCED: LazyLock<Regex> =
    LazyLock::new(|| insensitive(&format!("(?:(?:{ANSWER}){}|{})$", filler(), announced_with_is())));

/// An announcement that may be earlier in a label's sentence.
pub(super) static ANNOUNCED_EARLIER: LazyLock<Regex> = LazyLock::new(|| insensitive(&announced_with_is()));

/// `answer` alone before a label, which announces it, or names an option that is explained.
pub(super) static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let gap = r"[^\p{L}\p{N}.,;!?。，；、:：=\n]*";
    insensitive(&format!(r"(?:\banswer|答案){gap}(?:(?:choice|option|选项|選項){gap})?$"))
});

/// Before a label that tells which text is meant: `The answer is Saturn (B)`.
pub(super) static MARKED: LazyLock<Regex> = LazyLock::new(|| insensitive(r"(?:[(\[（【]|\boption |选项)$"));

/// In a clause before a label: it may not be what the answer means. What the speaker thinks counts, and is no group.
pub(super) static DOUBTED: LazyLock<Regex> = LazyLock::new(|| {
    let words = "if|unless|whether|not|never|neither|none|doubt|thinks?|thought|believes?|says?|said|some|many|except|\
        unlike|hardly|unlikely|mistakes?|tempt[a-z]+|(?:rather|other) than|instead of|different from|anything but|depends|rul[a-z]+ out|\
        eliminat[a-z]+|exclud[a-z]+|(?:wrong|incorrect|false) (?:that|to)|(?:no(?: [a-z]+)?|wrong|incorrect|false|worst|\
        possible|opposite of the|(?:least|second) [a-z]+) (?:answer|option|choice)s?";
    // As a question asks: `The statement that is not correct is B`.
    let adjectives =
        "correct|right|true|accurate|valid|supported|mentioned|stated|included|consistent|possible|required";
    insensitive(&format!(
        r"\b(?:i|we)(?: would|['’]d)? (?:think|believe|say)\b|\b(?:no|without(?: a| any)?|beyond(?: a| any)?)(?: reasonable)? doubt\b|\bnot (?:{adjectives}) (?:is|are|was)\b\W*$|(^\W*(?:is|was) (?:it|the)\b|\b(?:{words})\b|n['’]t\b|cannot|만약|如果|假如|若|是否|有人|很多|[误错][选選]|易错|错误答案|不[是选選能要应]|[而并]非|而不|除)"
    ))
});

/// In a clause before a label: what comes before does not doubt the answer that is concluded.
pub(super) static CONCLUDES: LazyLock<Regex> = LazyLock::new(|| {
    let english = r"\b(?:so|thus|hence|therefore),? (?:(?:the|my) (?:(?:correct|best|right|final) )?(?:answer|option|choice)|i (?:choose|pick|select))\b";
    insensitive(&format!("{english}|(?:所以|因此|因而|从而|故)(?:正确|本题|此题|应该?|应当)?(?:的?答案|[选選])"))
});

/// In a clause before a label: the answer of somebody else, as judges speak of it.
pub(super) static OF_OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    let judged = "candidate|student|model|user|assistant|respondent|predicted|submitted|gold|reference|ground[ -]truth";
    insensitive(&format!(
        r"\b(?:your|his|her|their|(?:{judged})(?:['’]s|s['’])?)(?: (?:final|own|first|chosen|selected))? (?:answer|response|choice|option|prediction)\b|\b(?:gold|ground[ -]truth) (?:is|was)\b|\b(?:candidate|student|gold|ground[ -]truth|reference|predicted)(?: *[:：]| (?:chose|picked|selected|answered)\b)|\b(?:students|people|others|candidates|users) (?:[a-z]+ )?(?:answer(?:ed)?|choose|chose|pick(?:ed)?|select(?:ed)?)[^\p{{L}}\p{{N}}]*$|(?:[你您他她]|学生|考生|候选人?|模型|用户|预测)的?(?:最终)?(?:答案|回答|选择)|(?:[甲乙丙丁]|同学|学生|考生)们?[选選][择擇]?[^\p{{L}}\p{{N}}]*$"
    ))
});

/// In a clause before a label: it is not the only one, or a reason.
pub(super) static JOINED: LazyLock<Regex> =
    LazyLock::new(|| insensitive(r"\b(?:and|or|nor|both|because)\b|[和、或]|其中|因为"));

/// Another label directly before: what follows is the text of its option, as in `(B) A decrease in demand`.
pub(super) static OPTION_NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let apart = r"(?:[)\]）】*:：.]+ *|\*\* *| +[-–—] +)";
    Regex::new(&format!(r"(?:^|[^\p{{L}}\p{{N}}])(\p{{Lu}}){apart}(?:\*\* *)?$")).expect("it is a regular expression")
});

/// Before a label that is a unit: a number, a degree sign.
pub(super) static MEASURED: LazyLock<Regex> = LazyLock::new(|| {
    let between = r"(?:[ \u{a0}~^{}$]|\\(?:circ|text|mathrm|rm|,|;|:|!| ))*";
    insensitive(&format!(r"(?:\d|°|º|\\circ){between}$|\\(?:degree|circ){between}$"))
});

/// Before a label that is not meant.
pub(super) static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    let others = r"(?:(?-i:\p{Lu}|\d)\W*(?:,|\b(?:or|nor)\b)\W*)*(?-i:\p{Lu}|\d)\W*\b(?:or|nor)\W+";
    insensitive(&format!(
        r"(?:\bnot|n['’]t|\bcannot|不是|[而并]非|[不而](?:能|要|应|非)?[选選])(?: be)?(?: an?| the)?{GAP}(?:{others})?$"
    ))
});

/// What negates a Chinese word.
const NOT: &str = "[不没沒未无無非]";

/// Directly before a label that is a word, which is not meant: `不正确`, `没有任何错误`.
pub(super) static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    let between = "有|是|会|會|能|应|應|该|該|算|说|太|很|够|大|必|完全|一定|怎么|任何|什么|明显|存在|构成|发现|属于";
    insensitive(&format!("{NOT}(?:{between})*$"))
});

/// After a label that is a Japanese word: `正解ではない`.
pub(super) static NEGATED_AFTER: LazyLock<Regex> =
    LazyLock::new(|| insensitive(r"^\p{Hiragana}{1,6}?(?:ない|なく|なかった|ません)"));

/// Between a label and what is said of it in Chinese.
const ITEM: &str = r"[^\p{L}\p{N}.:,;：。，；、]*(?:选项|選項|[项項])?是?";

/// Between something and what it is not.
const IS_NOT: &str = r"(?:(?:is|are|was|can|does|do)(?:n['’]t| not)|can['’]t|cannot)(?: be)?";

/// After a label that is not meant.
pub(super) static REJECTED: LazyLock<Regex> = LazyLock::new(|| {
    let is_wrong = r"(?:is|was|(?:(?:, ?\w\W*)*\b(?:and|or|nor) (?:option )?\W*\w\W* )?are) (?:both |all |the )?(?:wrong|incorrect|false)\b";
    let right = r" *(?:(?:the )?(?:correct|right|answer)\b|[.,;!?\n]|$)";
    insensitive(&format!(r"^\W*(?:{is_wrong}|{IS_NOT}{right})|^(?:[、和]\w)*{ITEM}[均都]?(?:错|不正确|不对)"))
});

/// After a label that is meant.
pub(super) static CONFIRMED: LazyLock<Regex> = LazyLock::new(|| {
    let is_right = r"(?:(?:is|was) |: )(?:the )?(?:correct|right|(?:correct |right |best )?answer)\b";
    insensitive(&format!(r"^[^\w.,;!?]*?{is_right}|^{ITEM}(?:正确|对的)"))
});

/// After a label that is meant like the one before.
pub(super) static ALSO_RIGHT: LazyLock<Regex> = LazyLock::new(|| {
    let is = "(?:is|was|(?:would|could|can|may|might) be)";
    let right = "(?:the )?(?:correct|right|true|valid|acceptable|possible|an answer)";
    let too = "(?:too|as well)";
    let english = format!("(?:{is} (?:also|equally|likewise) {right}|{is} {right},? {too}|also works|works,? {too})");
    let chinese = "(?:也|亦|同样)是?(?:正确|对|可以|成立|符合)的?";
    insensitive(&format!(r"^(?:[^\w.,;!?]*{english}|{ITEM}{chinese}){CLAUSE_ENDS}"))
});

/// After such a label that ends its clause.
pub(super) static ENDS_CLAUSE: LazyLock<Regex> = LazyLock::new(|| insensitive(&format!("^{CLAUSE_ENDS}")));

const CLAUSE_ENDS: &str = r"[^\w.,;!?。，；！？\n]*(?:[.,;!?。，；！？\n]|$)";

/// Before such a label that ends its clause.
pub(super) static ALSO: LazyLock<Regex> = LazyLock::new(|| {
    insensitive(&format!(r"(?:\balso|\b(?:so|as) (?:is|does)|以及){GAP}(?:(?:option|choice|选项){GAP})?$"))
});

/// In a sentence with such a label: it is less right than the other.
pub(super) static CONCEDED: LazyLock<Regex> =
    LazyLock::new(|| insensitive(r"\b(?:but|although|though|however)\b|但|不过|不過|虽然|雖然"));

/// Between two labels either of which may be meant: nothing, or a word such as `or`.
pub(super) static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    let signs = r"[^\p{L}\p{N}.:;!?。：；\n]*";
    let joined = format!(r"^{signs}(?:as well as|(?:and|or|nor)\b(?:\W+\w+){{0,2}}|[和与]|[와과나])?{signs}$");
    insensitive(&format!(
        r"{joined}|(?:\b(?:or|nor)\b(?:\W+\w+)?|\b(?:otherwise|else)\b[^.!?\n]*|(?:或者?|还是|否则)[选選]?){signs}$"
    ))
});

/// After a label that the answer takes back, doubts, or makes depend on something.
pub(super) static WITHDRAWN: LazyLock<Regex> = LazyLock::new(|| {
    let depends = r"^[ ,]*(?:(?:but|and|only) )*(?:if|unless)\b|^[^.,;!?。，；！？\n]*，?但|^[^.;!。；！\n]*[?？]";
    let is_wrong = format!(
        r"^\W*(?:\((?:incorrect|wrong)|(?:but )?(?:which|this|that|it)(?:(?: is|['’]s| was) (?:wrong|incorrect|false|not (?:right|correct))| {IS_NOT} (?:right|correct))\b)"
    );
    let interjection =
        r"[.,;!?…\n—-]\W*(?:(?:oh |no )?(?:no|wait|sorry|oops|hmm|correction)(?: no)? ?[.,:;!…—-]|actually\b)";
    let words = r"\b(?:my mistake|on second thoughts?|i mean)\b|[。！？\n]等等|更正|[，。！？]不对?[，。！？]";
    insensitive(&format!("{depends}|{is_wrong}|{interjection}|{words}"))
});

/// Before a label with which an answer ends.
pub(super) static CONCLUDED: LazyLock<Regex> =
    LazyLock::new(|| insensitive(r"(?:^|[\n;；]|\b(?:so|thus|hence|therefore)\b|所以|因此|故)[^\p{L}\p{N}\n]*$"));

/// Before a label that a sentence is about, and not a text that ends with one, such as `Hepatitis B`.
pub(super) static STATED: LazyLock<Regex> = LazyLock::new(|| {
    let words = format!(
        "{IS}|['’]s|{FILLER}|so|thus|hence|therefore|answer|choose|chose|pick|picked|select|selected|say|mean|meant|take|prefer|with|选|選"
    );
    insensitive(&format!(r"(?:^|[.!?:;\n。！？：；]|\b(?:{words})|[是选選为為]){GAP}$"))
});

/// Words end at ASCII's boundaries. Unicode's cost a hundred times as much in Chinese text, where they mean nothing.
fn insensitive(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){}", pattern.replace(r"\b", r"(?-u:\b)"))).expect("it is a regular expression")
}
