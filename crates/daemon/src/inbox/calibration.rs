//! Thresholds tried out on answered calls. The page changes nothing.

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use countersign_store::StoreError;
use countersign_types::tier::Points;
use maud::{Markup, html};
use serde::Deserialize;

use super::labels::thousands;
use super::page::{ApiState, PageResult, signed_in_page};
use super::{layout, plot, settings};
use crate::api::{CalibrationData, calibration_data};
use crate::calibration::ThresholdSetting;

#[derive(Deserialize)]
pub struct CalibrationQuery {
    low: Option<String>,
    medium: Option<String>,
}

impl CalibrationQuery {
    /// In hundredths; an unreadable value means the current one.
    fn setting(&self, now: ThresholdSetting) -> ThresholdSetting {
        let whole = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
        let low = whole(&self.low).and_then(|low: u16| u8::try_from(low.min(100)).ok());
        let medium = whole(&self.medium).map(|points: u16| points.min(Points::MAX.0));
        ThresholdSetting {
            low_confidence: low.unwrap_or(now.low_confidence),
            medium: medium.map_or(now.medium, Points),
        }
    }
}

/// The page.
pub async fn page(
    State(api): ApiState,
    headers: HeaderMap,
    uri: Uri,
    Query(tried): Query<CalibrationQuery>,
) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let data = calibration_data(&api).await.map_err(failed)?;
    let CalibrationData { buckets, partial, regretted, .. } = data;
    let now = ThresholdSetting::of(&api.gate.rules().assessment);
    let setting = tried.setting(now);
    let all: u64 = buckets.iter().map(|one| one.approved + one.denied + one.expired).sum();
    let body = html! {
        section.wide {
            h1 { "Calibration" }
            (settings::tabs("/calibration"))
            p.hint {
                "What other thresholds would have changed for the " (thousands(all))
                @if all == 1 { " question" } @else { " questions" }
                " of 90 days. Nothing is changed here; HIGH, CRITICAL and crises are always asked "
                "about."
                @if partial { " There were more; these are the newest." }
                @if regretted > 0 {
                    " " (thousands(regretted)) " approved and regretted: counted as denied."
                }
            }
            (plot::scores(&buckets, setting.medium))
            (form(setting, now))
            p.sentence #sentence role="status" { (setting.sentence(&buckets)) }
            p.hint { "To apply these thresholds, add this to countersign.toml:" }
            pre.secret #lines { (setting.config_lines(now)) }
            p.hint {
                "Calls that passed have no stored score, so the effect of a stricter setting "
                "cannot be counted here."
            }
        }
    };
    Ok(layout::page("Calibration", layout::MenuItem::Settings, Some(&identity), &body))
}

fn form(setting: ThresholdSetting, now: ThresholdSetting) -> Markup {
    let two = |hundredths: u16| format!("{}.{:02}", hundredths / 100, hundredths % 100);
    let (low, medium) = (u16::from(setting.low_confidence), setting.medium.0);
    html! {
        form.calibrate #calibrate method="get" action="/calibration" autocomplete="off"
            data-low=(now.low_confidence) data-medium=(now.medium.0) {
            label {
                span { "A LOW call passes from this confidence on: "
                    output name="lowshown" { (two(low)) } }
                input type="range" name="low" min="0" max="100" value=(low);
                span.hint { "now " (two(now.low_confidence.into())) ", "
                    code { "assessment.low_confidence" } }
            }
            label {
                span { "A judge may pass a MEDIUM call below these points: "
                    output name="mediumshown" { (two(medium)) } }
                input type="range" name="medium" min="0" max="400" step="5" value=(medium);
                span.hint { "now " (two(now.medium.0)) ", " code { "assessment.api_threshold" }
                    " and the other thresholds; only with a configured judge, counted as if "
                    "it passed all that it can"
                }
            }
            noscript { button type="submit" { "Try it" } }
        }
    }
}
