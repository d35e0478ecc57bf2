"""Section 3: RFC 3339, strictly. By hand: the calendar of Python's datetime is a witness in the tests, not the rule."""

import re

FORM = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})")
MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_before(year):
    """Days from the first of January of the year 1 to that of `year`."""
    past = year - 1
    return past * 365 + past // 4 - past // 100 + past // 400


def day_number(year, month, day):
    leap_day = 1 if month > 2 and is_leap(year) else 0
    return days_before(year) + sum(MONTHS[:month - 1]) + leap_day + day - 1


EPOCH = day_number(1970, 1, 1)


def parse(text):
    """(seconds since 1970, the floor; nanoseconds); ValueError for anything else."""
    match = FORM.fullmatch(text)
    if not match:
        raise ValueError("not of the form")
    year, month, day, hour, minute, second = (int(match[at]) for at in range(1, 7))
    length = MONTHS[month - 1] + (month == 2 and is_leap(year)) if 1 <= month <= 12 else 0
    if year < 1 or not 1 <= day <= length or hour > 23 or minute > 59 or second > 59:
        raise ValueError("no such day or time")
    offset = 0
    if match[8] != "Z":
        hours, minutes = int(match[8][1:3]), int(match[8][4:6])
        if hours > 23 or minutes > 59:
            raise ValueError("no such offset")
        offset = (hours * 60 + minutes) * (-60 if match[8][0] == "-" else 60)
    seconds = (day_number(year, month, day) - EPOCH) * 86400 + hour * 3600 + minute * 60 + second - offset
    return seconds, int((match[7] or "0")[:9].ljust(9, "0"))


def format(milliseconds):
    """UTC, whole seconds, truncated to the floor."""
    seconds = milliseconds // 1000
    day, left = seconds // 86400 + EPOCH, seconds % 86400
    year = max(1, day * 400 // 146097)
    while days_before(year + 1) <= day:
        year += 1
    while days_before(year) > day:
        year -= 1
    if not 1 <= year <= 9999:
        raise ValueError("a year of four digits")
    left_days = day - days_before(year)
    month = 1
    while left_days >= MONTHS[month - 1] + (month == 2 and is_leap(year)):
        left_days -= MONTHS[month - 1] + (month == 2 and is_leap(year))
        month += 1
    return f"{year:04}-{month:02}-{left_days + 1:02}T{left // 3600:02}:{left // 60 % 60:02}:{left % 60:02}Z"
