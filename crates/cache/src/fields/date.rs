//! Dates of HTTP (RFC 9110, section 5.6.7), in seconds since 1970.

const DAY: i64 = 24 * 60 * 60;
/// The end of the year 9999.
const LATEST: i64 = 253_402_300_799;
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
/// From the day that is 0 here, a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Reads any of the three forms. Names of days are not compared with the date. Of the form with two digits
/// for the year, it is the one that is at most 50 years ahead of `now`.
#[must_use]
pub fn parse(text: &[u8], now: i64) -> Option<i64> {
    match text.iter().position(|&byte| byte == b',') {
        Some(3) => parse_fixed(text),
        Some(6..=9) => parse_850(text, now),
        None => parse_asctime(text),
        _ => None,
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parse_fixed(text: &[u8]) -> Option<i64> {
    let text: &[u8; 29] = text.try_into().ok()?;
    let shape = text[..3].iter().all(u8::is_ascii_alphabetic)
        && text[3..].starts_with(b", ")
        && [7, 11, 16].iter().all(|&at| text[at] == b' ')
        && text.ends_with(b" GMT");
    let year = number(&text[12..16])?;
    shape.then(|| seconds(year, month(&text[8..11])?, number(&text[5..7])?, &text[17..25]))?
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`.
fn parse_850(text: &[u8], now: i64) -> Option<i64> {
    let comma = text.len().checked_sub(24)?;
    let (day, rest) = text.split_at(comma);
    let shape = day.iter().all(u8::is_ascii_alphabetic)
        && rest.starts_with(b", ")
        && (rest[4], rest[8], rest[11]) == (b'-', b'-', b' ')
        && rest.ends_with(b" GMT");
    let (this_year, _, _) = civil(now.clamp(0, LATEST) / DAY);
    // The last year with these digits that is not more than 50 ahead.
    let latest = this_year + 50;
    let year = latest - (latest - number(&rest[9..11])?).rem_euclid(100);
    shape.then(|| seconds(year, month(&rest[5..8])?, number(&rest[2..4])?, &rest[12..20]))?
}

/// `Sun Nov  6 08:49:37 1994`.
fn parse_asctime(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let shape = text[..3].iter().all(u8::is_ascii_alphabetic)
        && [3, 7, 10, 19].iter().all(|&at| text[at] == b' ');
    let day = if text[8] == b' ' { &text[9..10] } else { &text[8..10] };
    shape
        .then(|| seconds(number(&text[20..])?, month(&text[4..7])?, number(day)?, &text[11..19]))?
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
    })
}

/// From 1 on.
fn month(name: &[u8]) -> Option<i64> {
    (1..).zip(MONTHS).find(|(_, month)| *month == name).map(|(number, _)| number)
}

fn seconds(year: i64, month: i64, day: i64, time: &[u8]) -> Option<i64> {
    let days = days(year, month, day);
    if civil(days) != (year, month, day) || (time[2], time[5]) != (b':', b':') {
        return None;
    }
    let (hour, minute) = (number(&time[..2])?, number(&time[3..5])?);
    let second = number(&time[6..8])?;
    // 60 is a leap second.
    (hour < 24 && minute < 60 && second <= 60)
        .then_some(days * DAY + hour * 60 * 60 + minute * 60 + second)
}

/// Days since 1970 of the proleptic Gregorian calendar. Years are counted from March on, so that a
/// leap day is the last one; `(153 * m + 2) / 5` are the days before the month `m` of such a year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The other way round: year, month, day.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    // A guess that is right or one too high, as an average year is a little shorter than 366 days.
    let mut year = days.div_euclid(365);
    let start =
        |year: i64| year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    while start(year) > days {
        year -= 1;
    }
    let day = days - start(year);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Renders the preferred form, as in `Sun, 06 Nov 1994 08:49:37 GMT`. Years have four digits.
#[must_use]
pub fn render(seconds: i64) -> String {
    let seconds = seconds.clamp(0, LATEST);
    let (days, time) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let weekday = WEEKDAYS[(days % 7) as usize];
    let month = String::from_utf8_lossy(MONTHS[(month - 1) as usize]);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}
