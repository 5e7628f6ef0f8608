"""Measures how improbable a text is, in bits. The right encoding of some bytes makes the least improbable text.

The costs are rounded estimates of -log2 of a character's frequency in its language. Wrongly decoded bytes become
characters that no text has, in an order that no word has, and cost twice as much.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

UNLIKELY = 24.0
"""Bits of a character that the language does not have."""
PRIVATE = 34.0
"""Bits of a character that has no meaning outside one organization."""

_WESTERN = "éèêëàâäáãåçíìîïñóòôöõøúùûüßæœšžı"
_CENTRAL = "ąćęłńóśźżáčďéěíňřšťúůýžäöüőűăâîșțşţđőģķļņāēīūėįųčğı"
_CYRILLIC = {4.0: "оеаинтс", 5.0: "рвлкмдпу", 6.0: "яыьгзбчйхжшюцщэфі", 8.0: "ъёїєґљњћџђјў"}
_GREEK = {4.0: "αοιετσνηυ", 5.5: "ρπκμλςίάόέήώθγδβωφχξζψύϊϋΐΰ"}
_HEBREW, _ARABIC = "אבגדהוזחטיךכלםמןנסעףפץצקרשת", "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىأإآءؤئپچژگکی"
_THAI = "".join(map(chr, [*range(0xE01, 0xE3B), *range(0xE40, 0xE5C)]))
_SYMBOLS = "°ºª±²³½¼¾£€§©®™«»–—‘’“”„…·×÷µ¿¡•¢¥№"
_JAPANESE = (
    "日一国人年大本中長出三田山川村木林森石井上下小高島崎藤佐伊加後近遠斎松竹梅清水谷沢原野口内外東西南北京都府県市区町番地"
    "号丁目橋岡福宮神社寺株式会有限電話商品名価格料金茶緑紅酒飲食米肉魚菜果物花子太郎次男女美恵和正明治昭平成令真由香智裕健"
    "二四五六七八九十百千万円分新古白黒赤青黄色銀銅鉄土火風空海天星月光春夏秋冬朝昼夜今前時間曜週第部課係員工業農用具服靴紙書"
    "文字学校生先店屋駅車道路線港湖浦浜戸鈴吉池阿坂渡辺増柴久保杉桜荒関丸武安永岩河横尾角秀雄弘博樹也介翔陽葵結愛優奈咲彩希"
    "悠斗蓮翼拓哉直隆徹誠修康浩典敏幸孝義信行夫代江里枝織絵理沙麻衣亜紀豊英俊勝利進淳洋晴抹玄麦豆油塩糖味噌醤乾根玉牛豚卵乳"
    "製無添産特選限定袋箱個枚冊台型入庫在荷配送税込抜合計数量単位菓"
)
_SIMPLIFIED = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然"
    "没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回"
    "二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新打便位因重被走电四第门相次东海口教西平真听世气信北少"
    "关并内加化由代产入先山五太水万市体别处总才场师书比住员九通目华报立马张安表原车白应路期金何更合放计司利光王果界京务清物"
    "台记边共风接许八特服毛林题建南度色字请交爱百义科元社术结六指思流青管远资花快条院红周保达运武半七城完区求品量空技江语英"
    "李黄德收钱取设版双历商千片容网香石校组造编宝布调局团级克精客证费足群热推兴约阳支古汉号选吴星陈农价省器送绿苏州深圳广杭"
    "赵刘杨胡郭何罗梁宋郑谢韩唐冯董萧曹袁邓傅沈曾彭吕伟芳娜敏静丽强磊军洋勇艳杰娟涛超霞平刚桂类别货币描述龙井茶乌咖啡"
)
_TRADITIONAL = (
    "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可里後小麼心多天而能好都然"
    "沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回"
    "二理美點月明其種聲全工己話兒者向情部正名定女問力機給等幾很業最間新打便位因重被走電四第門相次東海口教西平真聽世氣信北少"
    "關並內加化由代產入先山五太水萬市體別處總才場師書比住員九通目華報立馬張安表原車白應路期金何更合放計司利光王果界京務清物"
    "台臺灣記邊共風接許八特服毛林題建南度色字請交愛百義科元社術結六指思流青管遠資花快條院紅周保達運武半七城完區求品量空技江"
    "語英李黃德收錢取設版雙歷商千片容網香石校組造編寶布調局團級克精客證費足群熱推興約陽支古漢號選吳星陳農價省器送綠蘇州高雄"
    "劉蔡楊鄭謝郭洪邱曾廖賴徐葉莊呂淑美惠雅婷怡君志明家豪俊傑冠宇宏偉文彥建類別貨幣描述龍井茶烏咖啡"
)
_KOREAN = (
    "이다는에의가고지을하사한리기로도인서은그대시자아어나있정들수일부원과해스보전장제구상여성동라신주소무공조안면우모적계선업경"
    "연비국물관세미화민방학생개양진위오유영재실중트음문내반발식회명산통분술점용력행체강품김박최윤임송황권홍차녹드마타카프크테니현"
    "준호훈석철희숙순옥란은혜지울산광부번호류"
)
_KANA = {5.0: "ｱｲｳｶｷｸｼｽﾀﾄﾅﾆﾉﾏﾐﾗﾘﾙﾝﾞｺｻ", 6.0: "ｴｵｹｾｿﾁﾂﾃﾇﾈﾊﾋﾌﾍﾎﾑﾒﾓﾔﾕﾖﾚﾛﾜﾟｰ", 7.0: "ｧｨｩｪｫｬｭｮｯ", 9.0: "･ｦ｡｢｣､"}

_HALF_WIDTH = {one: bits for bits, letters in _KANA.items() for one in letters}
# Patterns that no word has. In katakana: a mark that the sound before it cannot carry, or that nothing precedes.
_NO_KANA = (
    "(?<![ｳｶ-ﾄﾊ-ﾎﾜ])ﾞ|(?<![ﾊ-ﾎ])ﾟ|(?<![ｷｼﾁﾆﾋﾐﾘﾌﾃﾄﾞﾟ])[ｬｭｮ]|(?<![ｦ-ﾟ])[ｯｰﾝｧｨｩｪｫ]|[｡､･｢｣]{2}|[ｧ-ｯ]{2}|ｯ(?![ｦ-ﾟ])|\\d[｡-ﾟ]|[｡-ﾟ]\\d|"
    "[\u3400-\u9fff][｡-ﾟ]|[｡-ﾟ][\u3400-\u9fff]"
)
_NO_WIDE = "(?!)"
_NO_LATIN = "[a-zß-öø-ÿ][À-ÖØ-Þ]|[a-z][°ºª±²³½¼¾£€§©®«»×÷¿¡][a-z]|[À-ÖØ-öø-ɏ]{3}"
_NO_SYMBOL = "[a-zà-ÿ][À-ÖØ-Þ]|[a-z][°ºª±²³½¼¾£€§©®«»×÷¿¡][a-z]"
_NO_CYRILLIC = "[а-џ][А-Я]|[A-Za-z][Ѐ-ӿ]|[Ѐ-ӿ][A-Za-z]"
_NO_OTHER = "[α-ώ][Α-Ω]|[A-Za-z][Ͱ-Ͽ֐-ۿก-๛]|[Ͱ-Ͽ֐-ۿก-๛][A-Za-z]"
# A cell of one letter, or of one sign, is rare, and may be two half-width katakana.
_LONE = re.compile(r"(?<![A-Za-z\d\u00a1-\u07ff\u1e00-\u1eff])[\u00a1-\u07ff](?![A-Za-z\d\u00a1-\u07ff\u1e00-\u1eff])")
# Japanese product names have a frequent ideograph beside a letter, but no word has a rare one or half-width katakana.
_BESIDE_LETTER = re.compile(r"(?<=[a-z])[\u3041-\ufb00｡-ﾟ]|[\u3041-\ufb00｡-ﾟ](?=[a-z])")
_BETWEEN_LETTERS = re.compile(r"(?<=[a-z])[\u3041-\ufb00](?=[a-z])")
# Letters of two bytes in UTF-8 that people write today, and their alphabets, which no word mixes.
_LIVING = re.compile("[\u0386-\u03ce\u0400-\u04ff\u0531-\u0587\u05b0-\u05ea\u0620-\u0652\u0679-\u06d3]")
_ALPHABETS = "\u00c0-\u024f", "\u0370-\u03ff", "\u0400-\u052f", "\u0530-\u058f", "\u0590-\u05ff", "\u0600-\u077f"
_MIXED = re.compile("|".join(f"[{one}](?=(?![{one}])[\u00c0-\u07ff])" for one in _ALPHABETS))
# Usual places of a symbol, a unit or a two-byte capital, and half-width katakana that form no word.
_USUAL = re.compile(
    r"(?<![A-Za-z])[Nn]\.?[°º](?=[^\da-z]|\Z)|\d ?°(?= ?[CFKcf]\b)|(?<!\w)°(?=[CFK]\b)|(?:\b[a-z]?M|[a-z])[¹²³](?!\w)"
    r"|[A-Za-z\d] ?[®©](?!\w)|©(?= ?\d{4})|[£¢§±](?= ?\d)|\d ?[¢º](?!\w)|\d ?[½¼¾]|(?<!\w)[½¼¾](?= [a-z])"
    r"|(?<=[Ll])·(?=[Ll])|\d [мглт](?!\w)|(?<![A-Za-z])[À-ÞĀ-ž](?=[A-Z]{2})"
)
_ARCHAIC = 15.0
_USUAL_GAIN = 14.0
_WRONG, _ALONE, _BESIDE, _RARE_BESIDE, _RARE = 6.0, 8.0, 2.0, 12.0, 14.0


@dataclass(frozen=True, slots=True)
class Language:
    """A language. bits: cost of a character. wrong: matches text that the language never has.

    usual: matches text that confirms it.
    """

    bits: Callable[[str], float]
    wrong: re.Pattern[str]
    usual: re.Pattern[str] | None = None

    def cost(self, text: str) -> float:
        beside = sum(
            _RARE_BESIDE if self.bits(found[0]) >= _RARE or found[0] >= "｡" else _BESIDE
            for found in _BESIDE_LETTER.finditer(text)
        )
        beside += _RARE_BESIDE * sum(1 for _ in _BETWEEN_LETTERS.finditer(text))
        beside += _RARE_BESIDE * sum(1 for _ in _MIXED.finditer(text))
        beside += _ALONE * sum(1 for _ in _LONE.finditer(text))
        if self.usual and self.usual.search(text):
            beside -= _USUAL_GAIN
        return sum(map(self.bits, text)) + _WRONG * sum(1 for _ in self.wrong.finditer(text)) + beside


def cost(text: str, names: Sequence[str]) -> float:
    """Return the bits of a text in the most probable of these languages, or of all if none is named."""
    return min(LANGUAGES[name].cost(text) for name in names or LANGUAGES)


def _language(bits: Callable[[str], float], wrong: str, usual: re.Pattern[str] | None = None) -> Language:
    return Language(cache(lambda one: _ascii(one) if one.isascii() else bits(one)), re.compile(wrong), usual)


def _ascii(character: str) -> float:
    if character.isalnum():
        return 5.0
    return 6.0 if " " <= character <= "~" or character in "\t\r\n" else 16.0


def _alphabet(*groups: dict[float, str]) -> Callable[[str], float]:
    """Return bits by letter; a capital is rarer."""
    lower = {one: bits for group in groups for bits, letters in group.items() for one in letters}
    known = dict.fromkeys(_SYMBOLS, 9.0)
    known |= {one.upper(): bits + 2.5 for one, bits in lower.items() if len(one.upper()) == 1}
    known |= lower
    return lambda one: known.get(one, UNLIKELY)


def _any_latin(one: str) -> float:
    if "Ḁ" <= one <= "ỿ" or one in "ơưșțǎƠƯȘȚǍ":
        return 8.0
    if one.isalpha() and one < "\u0250":
        return 8.0 if one < "\u0180" else _ARCHAIC
    return _other(one)


def _other(one: str) -> float:
    """Return the bits of a character in a text of any language."""
    match unicodedata.category(one)[0]:
        case "L" | "M":
            if one < "\u0250":
                return UNLIKELY
            if one < "\u0900" and not _LIVING.match(one):
                return _ARCHAIC
            return 14.0 if "\u3041" <= one <= "\u9fff" or "가" <= one <= "힣" else 9.0
        case "C":
            return 9.0 if one in "\u200c\u200d" else PRIVATE
    return 12.0 if one > "\xff" else 9.0 if one in _SYMBOLS else UNLIKELY


def _ideographs(
    common: str, codec: str, levels: tuple[int, int, int], other: Callable[[str], float]
) -> Callable[[str], float]:
    """Return bits by the rows of a national table. levels: first rows of frequent ones, of rare ones, and after."""
    frequent, (first, second, last) = frozenset(common), levels

    def bits(one: str) -> float:
        if one in frequent:
            return 9.0
        data = one.encode(codec, "replace")
        if len(data) == 2 and first <= data[0] < last:
            return 13.0 if data[0] < second else 18.0
        return other(one)

    return bits


def _wide(one: str) -> float:
    """Return the bits of a character that all languages of East Asia use."""
    if one in "　、。・「」（）ー〜～！？：／－＆，．《》【】ㆍ·":
        return 9.0
    if "！" <= one <= "～":
        return 10.0
    if "\ue000" <= one <= "\uf8ff":
        return PRIVATE
    return (
        15.0 if "\u0391" <= one <= "\u0451" or "\u2010" <= one <= "\u266f" or "\u3000" <= one <= "\u3129" else UNLIKELY
    )


def _japanese(one: str) -> float:
    if "ぁ" <= one <= "ヶ":
        return 7.5
    if "｡" <= one <= "ﾟ":
        return 13.0
    return 16.0 if one in "①②③④⑤⑥⑦⑧⑨⑩㈱㈲№℡㎏㎝㎡髙﨑德濵瀨栁彅" else _wide(one)


def _korean(one: str) -> float:
    return 18.0 if "가" <= one <= "힣" or "一" <= one <= "鿿" else _wide(one)


LANGUAGES = {
    "western": _language(_alphabet({5.5: _WESTERN}), _NO_LATIN),
    "central": _language(_alphabet({6.0: _CENTRAL}), _NO_LATIN),
    "cyrillic": _language(_alphabet(_CYRILLIC), _NO_CYRILLIC),
    "greek": _language(_alphabet(_GREEK), _NO_OTHER),
    # Vietnamese, Baltic, African, and every other script: only UTF-8 has all of them.
    "latin": _language(_any_latin, _NO_SYMBOL, _USUAL),
    "other": _language(_other, _NO_OTHER),
    "hebrew": _language(_alphabet({5.0: _HEBREW}), _NO_OTHER),
    "arabic": _language(_alphabet({5.0: _ARABIC}), _NO_OTHER),
    "thai": _language(_alphabet({6.0: _THAI}), _NO_OTHER),
    "katakana": _language(lambda one: _HALF_WIDTH.get(one, UNLIKELY), _NO_KANA),
    "japanese": _language(_ideographs(_JAPANESE, "euc_jp", (0xB0, 0xD0, 0xF5), _japanese), _NO_WIDE),
    "simplified": _language(_ideographs(_SIMPLIFIED, "gb2312", (0xB0, 0xD8, 0xF8), _wide), _NO_WIDE),
    "traditional": _language(_ideographs(_TRADITIONAL, "big5", (0xA4, 0xC9, 0xFA), _wide), _NO_WIDE),
    "korean": _language(_ideographs(_KOREAN, "euc_kr", (0xB0, 0xC9, 0xC9), _korean), _NO_WIDE),
}
