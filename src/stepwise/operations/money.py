"""Formats amounts for people. The system counts in minor units; ISO 4217 defines how many of them make one unit."""

# ISO 4217: all currencies whose minor unit is not a hundredth, by the decimals of their amounts.
_BY_DECIMALS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF "
    "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_DECIMALS = {currency: decimals for decimals, codes in _BY_DECIMALS.items() for currency in codes.split()}


def shown(amount: int, currency: str) -> str:
    """Format an amount in the minor unit, such as `3,000 JPY` or `30.00 USD`."""
    decimals = _DECIMALS.get(currency, 2)
    whole, rest = divmod(abs(int(amount)), 10**decimals)
    fraction = f".{rest:0{decimals}}" if decimals else ""
    return f"{'-' if amount < 0 else ''}{whole:,}{fraction} {currency}"
