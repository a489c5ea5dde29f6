//! How usage fades, in integers, and when it is forgotten.
//!
//! What fades keeps 2^(-elapsed / half-life) of itself. The exponent's whole part is a shift; its fraction is taken apart
//! into its 64 binary digits, and the factors 2^(-2^-i) of those that are set are multiplied. Every factor is rounded
//! to 2^-64, so the result is wrong by less than 2^-57 of itself, whatever the time; the amount is then rounded down to
//! its unit. So ten steps of a day give what one step of ten days gives, but for one unit a step.

use daybook_schemas::UtcMicros;
use daybook_schemas::priority::UsageResetPeriod;

/// All of it: 2^64 parts.
pub(crate) const WHOLE: u128 = 1 << 64;

/// 2^(-2^-i) for i from 1 to 64, in parts of 2^64, rounded to the nearest.
const HALVINGS: [u64; 64] = [
    0xb504_f333_f9de_6484,
    0xd744_fcca_d69d_6af4,
    0xeac0_c6e7_dd24_392f,
    0xf525_7d15_2486_cc2c,
    0xfa83_b2db_722a_033a,
    0xfd3e_0c0c_f486_c175,
    0xfe9e_115c_7b8f_884c,
    0xff4e_cb59_511e_c8a5,
    0xffa7_5652_1c8d_aed2,
    0xffd3_a751_c0f7_e10c,
    0xffe9_d2b2_f7db_2756,
    0xfff4_e91b_ff1b_8c3e,
    0xfffa_747e_a004_0664,
    0xfffd_3a3b_7814_eb54,
    0xfffe_9d1c_c60d_dab1,
    0xffff_4e8e_2587_9bfa,
    0xffff_a747_0363_f451,
    0xffff_d3a3_7dda_0313,
    0xffff_e9d1_bdf7_03af,
    0xffff_f4e8_debe_025e,
    0xffff_fa74_6f4f_a150,
    0xffff_fd3a_37a3_f8b0,
    0xffff_fe9d_1bd1_065a,
    0xffff_ff4e_8de8_45ae,
    0xffff_ffa7_46f4_1377,
    0xffff_ffd3_a37a_05e4,
    0xffff_ffe9_d1bd_01fc,
    0xffff_fff4_e8de_80c0,
    0xffff_fffa_746f_4051,
    0xffff_fffd_3a37_a025,
    0xffff_fffe_9d1b_d011,
    0xffff_ffff_4e8d_e808,
    0xffff_ffff_a746_f404,
    0xffff_ffff_d3a3_7a02,
    0xffff_ffff_e9d1_bd01,
    0xffff_ffff_f4e8_de81,
    0xffff_ffff_fa74_6f40,
    0xffff_ffff_fd3a_37a0,
    0xffff_ffff_fe9d_1bd0,
    0xffff_ffff_ff4e_8de8,
    0xffff_ffff_ffa7_46f4,
    0xffff_ffff_ffd3_a37a,
    0xffff_ffff_ffe9_d1bd,
    0xffff_ffff_fff4_e8df,
    0xffff_ffff_fffa_746f,
    0xffff_ffff_fffd_3a38,
    0xffff_ffff_fffe_9d1c,
    0xffff_ffff_ffff_4e8e,
    0xffff_ffff_ffff_a747,
    0xffff_ffff_ffff_d3a3,
    0xffff_ffff_ffff_e9d2,
    0xffff_ffff_ffff_f4e9,
    0xffff_ffff_ffff_fa74,
    0xffff_ffff_ffff_fd3a,
    0xffff_ffff_ffff_fe9d,
    0xffff_ffff_ffff_ff4f,
    0xffff_ffff_ffff_ffa7,
    0xffff_ffff_ffff_ffd4,
    0xffff_ffff_ffff_ffea,
    0xffff_ffff_ffff_fff5,
    0xffff_ffff_ffff_fffa,
    0xffff_ffff_ffff_fffd,
    0xffff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// What is left of a whole after `elapsed`, in parts of [`WHOLE`]; both in the same unit. A half-life of 0: all.
pub(crate) fn remaining(elapsed: u64, half_life: u64) -> u128 {
    if half_life == 0 {
        return WHOLE;
    }
    let halvings = elapsed / half_life;
    let fraction = (u128::from(elapsed % half_life) << 64) / u128::from(half_life);
    let digits = (0u32..64).filter(|digit| (fraction >> (63 - digit)) & 1 == 1);
    let left = digits.fold(WHOLE, |left, digit| (left * u128::from(HALVINGS[digit as usize])) >> 64);
    u32::try_from(halvings).ok().and_then(|halvings| left.checked_shr(halvings)).unwrap_or(0)
}

/// An amount of which so many parts of [`WHOLE`] are left, rounded down.
pub(crate) fn fade(amount: u64, left: u128) -> u64 {
    u64::try_from((u128::from(amount) * left) >> 64).unwrap_or(u64::MAX)
}

const DAY: i64 = 86_400;

/// When the period began that `at` lies in.
pub(crate) fn period_start(period: UsageResetPeriod, at: UtcMicros) -> UtcMicros {
    let day = at.seconds().div_euclid(DAY);
    let (year, month) = year_and_month(day);
    let first = match period {
        UsageResetPeriod::Daily => day,
        // The first day of all was a Thursday.
        UsageResetPeriod::Weekly => day - (day + 4).rem_euclid(7),
        UsageResetPeriod::Monthly => first_day(year, month),
        UsageResetPeriod::Quarterly => first_day(year, (month - 1) / 3 * 3 + 1),
        UsageResetPeriod::Yearly => first_day(year, 1),
    };
    UtcMicros::from_seconds(first.saturating_mul(DAY))
}

/// Days of four hundred years.
const ERA_DAYS: i64 = 146_097;

/// Year and month of a day since 1970-01-01, counting years from March, as leap days come at their end.
fn year_and_month(day: i64) -> (i64, i64) {
    let from_march_of_0 = day + 719_468;
    let era = from_march_of_0.div_euclid(ERA_DAYS);
    let of_era = from_march_of_0.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + i64::from(month <= 2), month)
}

/// The first day of a month, since 1970-01-01.
fn first_day(year: i64, month: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: u64 = 7 * 86_400;

    #[test]
    fn each_entry_of_the_table_is_the_root_of_the_one_before() {
        let square = |entry: u64| u128::from(entry) * u128::from(entry);
        assert_eq!(square(HALVINGS[0]).abs_diff(1 << 127) >> 64, 0);
        for pair in HALVINGS.windows(2) {
            // Half a unit wrong in the root is a unit in the square; half a unit in the entry, and what is cut off.
            let difference = (square(pair[1]) >> 64).abs_diff(u128::from(pair[0]));
            assert!(difference <= 2, "{:x} {:x}", pair[0], pair[1]);
        }
    }

    #[test]
    fn usage_fades_by_half_lives_exactly() {
        // elapsed, half-life, what is left of 1 000 000 000
        let table = [
            (0, WEEK, 1_000_000_000),
            (WEEK, WEEK, 500_000_000),
            (2 * WEEK, WEEK, 250_000_000),
            (10 * WEEK, WEEK, 976_562),
            (63 * WEEK, WEEK, 0),
            (u64::MAX, WEEK, 0),
            (u64::MAX, u64::MAX, 500_000_000),
            // 10^9 times 2^(-1/2), 2^(-1/7), 2^(-1/2016) (five minutes), 2^(-1/604800) (a second)
            (WEEK / 2, WEEK, 707_106_781),
            (WEEK / 7, WEEK, 905_723_664),
            (300, WEEK, 999_656_236),
            (1, WEEK, 999_998_853),
            (WEEK, 0, 1_000_000_000),
        ];
        for (elapsed, half_life, left) in table {
            let found = fade(1_000_000_000, remaining(elapsed, half_life));
            assert_eq!(found, left, "after {elapsed} with {half_life}");
        }
    }

    #[test]
    fn many_small_steps_are_one_long_one_but_for_a_unit_each() {
        let start = 123_456_789_012_345;
        let (mut usage, steps) = (start, 12 * WEEK / 300);
        for _ in 0..steps {
            usage = fade(usage, remaining(300, WEEK));
        }
        let at_once = fade(start, remaining(12 * WEEK, WEEK));
        assert_eq!(at_once, start >> 12);
        // What is rounded off in a step fades too: one unit each, 300 seconds of a half-life of 2016 such steps.
        assert!(at_once - usage <= 2_909 + 1, "{usage} {at_once}");
    }

    #[test]
    fn periods_begin_at_midnight_in_utc() {
        // 2026-12-02T20:00:00Z, a Wednesday; 2024-02-29T00:00:00Z; 1970-01-01
        let instants = [1_796_241_600, 1_709_164_800, 0];
        let table = [
            (UsageResetPeriod::Daily, [1_796_169_600, 1_709_164_800, 0]),
            (UsageResetPeriod::Weekly, [1_795_910_400, 1_708_819_200, -4 * DAY]),
            (UsageResetPeriod::Monthly, [1_796_083_200, 1_706_745_600, 0]),
            (UsageResetPeriod::Quarterly, [1_790_812_800, 1_704_067_200, 0]),
            (UsageResetPeriod::Yearly, [1_767_225_600, 1_704_067_200, 0]),
        ];
        for (period, starts) in table {
            for (at, start) in instants.into_iter().zip(starts) {
                let found = period_start(period, UtcMicros::from_seconds(at));
                assert_eq!(found, UtcMicros::from_seconds(start), "{period:?} at {at}");
            }
        }
    }
}
