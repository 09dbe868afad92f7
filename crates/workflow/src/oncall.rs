//! Who is on duty when: hours of the week, quiet hours, rotas. Given the time on the wall, plain
//! arithmetic.

use countersign_types::time::Timestamp;

/// The days as they are written.
const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// A moment of the week as a clock on the wall shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wall {
    /// Monday is nought.
    pub day: u8,
    /// Minutes since midnight.
    pub minute: u16,
}

impl Wall {
    /// The moment in a place that is so many seconds ahead of UTC.
    pub fn at(time: Timestamp, ahead: i32) -> Wall {
        let seconds = time.0.div_euclid(1000).saturating_add(i64::from(ahead));
        // 1 January 1970 was a Thursday.
        let day = (seconds.div_euclid(86_400) + 3).rem_euclid(7);
        let minute = seconds.rem_euclid(86_400) / 60;
        Wall {
            day: u8::try_from(day).unwrap_or_default(),
            minute: u16::try_from(minute).unwrap_or_default(),
        }
    }
}

/// Hours on some days of the week. Those that end before they begin go over midnight and belong to
/// the day on which they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// Monday first.
    pub days: [bool; 7],
    /// The first minute.
    pub from: u16,
    /// The minute after the last; the same as `from` is a whole day.
    pub to: u16,
}

impl Hours {
    /// Reads `22:00`.
    pub fn minute(text: &str) -> Option<u16> {
        let (hours, minutes) = text.split_once(':')?;
        let two = |part: &str| {
            let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u16>().ok())?
        };
        let (hours, minutes) = (two(hours)?, two(minutes)?);
        (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
    }

    /// Reads days such as `mon`, `mon-fri`; all of them where nothing is said.
    pub fn days<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<[bool; 7]> {
        let place =
            |name: &str| NAMES.iter().position(|known| known.eq_ignore_ascii_case(name.trim()));
        let mut days = [false; 7];
        for word in words {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let (mut day, last) = (place(first)?, place(last)?);
            loop {
                *days.get_mut(day)? = true;
                if day == last {
                    break;
                }
                day = (day + 1) % 7;
            }
        }
        Some(if days == [false; 7] { [true; 7] } else { days })
    }

    /// "22:00 to 07:00 on mon, tue".
    pub fn words(&self) -> String {
        let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let named = NAMES.iter().zip(self.days).filter(|(_, on)| *on);
        let named: Vec<&str> = named.map(|(name, _)| *name).collect();
        let days = if named.len() == NAMES.len() {
            "every day".to_owned()
        } else {
            format!("on {}", named.join(", "))
        };
        format!("{} to {} {days}", time(self.from), time(self.to))
    }

    /// Whether it is one of these hours.
    pub fn hold(&self, wall: Wall) -> bool {
        let on = |day: u8| self.days.get(usize::from(day % 7)).copied().unwrap_or_default();
        let (today, yesterday) = (on(wall.day), on(wall.day + 6));
        if self.from == self.to {
            // From a minute of one day to the same minute of the next.
            return if wall.minute >= self.from { today } else { yesterday };
        }
        if self.from < self.to {
            return today && (self.from..self.to).contains(&wall.minute);
        }
        (today && (self.from..DAY).contains(&wall.minute)) || (yesterday && wall.minute < self.to)
    }
}

/// People take turns: each for so long, one after the other, for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rota {
    /// When the first turn began.
    pub since: Timestamp,
    /// How long a turn is, in milliseconds; nought counts as a day.
    pub turn: i64,
    /// Whose turn, in order: names of channels.
    pub channels: Vec<String>,
}

impl Rota {
    /// Whose turn it is.
    pub fn on_duty(&self, now: Timestamp) -> Option<&str> {
        let turn = if self.turn > 0 { self.turn } else { 86_400_000 };
        let turns = now.0.saturating_sub(self.since.0).div_euclid(turn);
        let many = i64::try_from(self.channels.len()).ok().filter(|many| *many > 0)?;
        let place = usize::try_from(turns.rem_euclid(many)).ok()?;
        self.channels.get(place).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(days: &[&str], from: &str, to: &str) -> Hours {
        Hours {
            days: Hours::days(days.iter().copied()).unwrap(),
            from: Hours::minute(from).unwrap(),
            to: Hours::minute(to).unwrap(),
        }
    }

    fn wall(day: u8, text: &str) -> Wall {
        Wall { day, minute: Hours::minute(text).unwrap() }
    }

    #[test]
    fn the_wall_shows_the_day_and_the_minute_of_a_place() {
        // Sunday, 15 November 2026, 14:05 UTC.
        let time = Timestamp(1_794_751_500_000);
        assert_eq!(Wall::at(time, 0), wall(6, "14:05"));
        assert_eq!(Wall::at(time, 10 * 3600), wall(0, "00:05"));
        assert_eq!(Wall::at(time, -(14 * 3600 + 360)), wall(5, "23:59"));
        assert_eq!(Wall::at(Timestamp(-1), 0), wall(2, "23:59"));
    }

    #[test]
    fn hours_over_midnight_belong_to_the_day_they_begin_on() {
        let night = hours(&["fri"], "22:00", "07:00");
        for (day, time, holds) in [
            (4, "21:59", false),
            (4, "22:00", true),
            (5, "06:59", true),
            (5, "07:00", false),
            (4, "06:00", false),
            (5, "22:30", false),
        ] {
            assert_eq!(night.hold(wall(day, time)), holds, "{day} {time}");
        }
        let sunday = hours(&["sun"], "22:00", "07:00");
        assert!(sunday.hold(wall(0, "03:00")) && !sunday.hold(wall(6, "03:00")));
        let work = hours(&["mon-fri"], "09:00", "18:00");
        assert!(work.hold(wall(4, "17:59")) && !work.hold(wall(5, "12:00")));
        let always = hours(&[], "00:00", "00:00");
        assert!(
            (0..7).all(|day| always.hold(wall(day, "23:59")) && always.hold(wall(day, "00:00")))
        );
    }

    #[test]
    fn what_is_no_hour_or_day_is_refused() {
        for text in ["", "7:00", "24:00", "12:60", "12", "12:00:00", "ab:cd", "-1:00"] {
            assert_eq!(Hours::minute(text), None, "{text}");
        }
        assert_eq!(Hours::days(["someday"]), None);
        assert_eq!(Hours::days(["sat-mon"]), Some([true, false, false, false, false, true, true]));
    }

    #[test]
    fn turns_go_round_for_ever_and_before_the_beginning_too() {
        let rota = Rota {
            since: Timestamp(1_000_000),
            turn: 1_000,
            channels: ["a", "b", "c"].map(str::to_owned).to_vec(),
        };
        let turns: Vec<_> = (-2..5)
            .map(|turn| rota.on_duty(Timestamp(1_000_000 + turn * 1_000)).unwrap())
            .collect();
        assert_eq!(turns, ["b", "c", "a", "b", "c", "a", "b"]);
        assert_eq!(rota.on_duty(Timestamp(1_000_999)), Some("a"));
        let nobody = Rota { channels: Vec::new(), ..rota };
        assert_eq!(nobody.on_duty(Timestamp(0)), None);
    }
}
