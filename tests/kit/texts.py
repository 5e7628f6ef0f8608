"""Names and words in many languages, and files of them in common encodings."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

HEADER = "code,name,category,price,currency"

TEXTS = {
    "spanish": "Muñoz,José,Peña,Iñaki,Núñez,Ángela,Begoña,Café con leche,1 kg de piñones,Año nuevo,±5 %,Nº 3,2ª mano",
    "french": "Hélène,François,Éloïse,Noël,Crème brûlée,Bœuf séché,Château,Maïs,L'été,À emporter,Ça va,5 €",
    "german": "Müller,Jürgen,Weiß,Käthe,Größe M,Öl,Äpfel,Straße,Süßigkeiten,20 °C,½ Liter,Übung",
    "polish": "Łukasz,Żółć,Wiśniewski,Agnieszka Dąbrowska,Świeży chleb,Śledź,Gęś,Paździoch,Źródło,Ćwikła",
    "swedish": "Åsa,Björn,Östlund,Ängström,Köttbullar,Smörgås,Blåbär,Ål,Ö,Grädde",
    "portuguese": "João,Conceição,Maçã,Pão de açúcar,Irmãos,Ônibus,Você,Avó,Água,Feijão",
    "japanese": "山田太郎,佐藤花子,緑茶,抹茶ラテ,コーヒー豆（200g）,東京都港区,高橋,髙島屋,ﾘｮｸﾁｬ,iPhone用ケース,齋藤",
    "katakana": "ﾔﾏﾀﾞ ﾀﾛｳ,ｻﾄｳ ﾊﾅｺ,ｶ)ｼﾖｳｼﾞ,ﾐﾂﾋﾞｼ,ABCｼｮｳｶｲ,ﾘﾖｸﾁﾔ,ﾆｼ ﾏｷ,ﾊｾ,ﾄｳｷﾖｳｼﾃﾝ,ﾌﾂｳ 1234567,ｺｰﾋｰ,ﾎｯｶｲﾄﾞｳ",
    "chinese": "绿茶,李伟,王芳,北京市海淀区,苹果,上海,广州,咖啡,张丽,龙井茶",
    "taiwanese": "綠茶,陳怡君,林淑美,臺北市,蘋果,高雄,咖啡,黃志明,烏龍茶,雅婷",
    "korean": "녹차,김철수,이영희,서울시,사과,부산,커피,박지현,최수영,대한민국",
    "russian": "Иванов,Пётр,молоко,хлеб,сыр,Москва,чай зелёный,Мария Петрова,сахар,кофе",
    "greek": "Ελένη,Γιώργος,και,τσάι,Αθήνα,γάλα,ψωμί,Μαρία,καφές,νερό",
    "thai": "ชาเขียว,สมชาย,กรุงเทพ,กาแฟ,ข้าว,น้ำตาล,สมหญิง,มะม่วง",
    "hebrew": "תה ירוק,ירושלים,קפה,משה כהן,לחם,חלב,שרה,מים",
    "arabic": "شاي أخضر,القاهرة,قهوة,محمد علي,خبز,حليب,فاطمة,ماء",
}
RIGHT = {"cp932": ("japanese", "katakana"), "utf-8": tuple(TEXTS)}
"""The languages of the files in an encoding that imports read."""
WRONG = {
    "euc_jp": "japanese",
    "iso2022_jp": "japanese",
    "gb18030": "chinese",
    "hz": "chinese",
    "big5": "taiwanese",
    "cp949": "korean",
    "latin-1": "portuguese",
    "cp1252": "french",
    "mac_roman": "german",
    "cp1250": "polish",
    "koi8_r": "russian",
    "cp1251": "russian",
    "cp866": "russian",
    "cp1253": "greek",
    "cp874": "thai",
    "cp1255": "hebrew",
    "cp1256": "arabic",
    "utf-7": "spanish",
}
"""A language for each encoding that imports do not read."""


@dataclass(frozen=True, slots=True)
class File:
    """A file. language: of its names. encoding: of its bytes."""

    language: str
    encoding: str
    names: tuple[str, ...]

    @property
    def records(self) -> list[bytes]:
        """The header and the rows, without line ends."""
        rows = (f"p{number},{name},tea,{number},JPY" for number, name in enumerate(self.names, start=1))
        return [HEADER.encode(), *(row.encode(self.encoding) for row in rows)]

    @property
    def data(self) -> bytes:
        return b"".join(record + b"\n" for record in self.records)


def files(language: str, encoding: str, sizes: tuple[int, ...], seed: int = 1) -> Iterator[File]:
    """Files of each size, with the names that this encoding can express."""
    chosen = random.Random(f"{language}{encoding}{seed}")  # noqa: S311
    known = [name for name in TEXTS[language].split(",") if _has(encoding, name)]
    for size in sizes:
        yield File(language, encoding, tuple(chosen.choice(known) for _ in range(size)))


def _has(encoding: str, name: str) -> bool:
    try:
        name.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
