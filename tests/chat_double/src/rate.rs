//! How fast a service lets a channel be written to. Invariant: a bucket starts full and gives back one token per
//! second; time is passed in.

use std::time::Duration;

use tokio::time::Instant;

use crate::service::Service;

/// Which bucket a channel draws from and how many messages it takes at once; none without a limit.
pub(crate) fn limit(service: Service, channel: &str) -> Option<(String, u32)> {
    match service {
        // "Short bursts are tolerated", the ceiling is secret.
        Service::Slack => Some((channel.to_owned(), 3)),
        // All webhooks of a space share one limit. Two, so that a sender at exactly one per second, whose
        // requests do not arrive exactly so, is not refused.
        Service::GoogleChat => Some((channel.split('~').next().unwrap_or(channel).to_owned(), 2)),
        Service::Teams | Service::Webhook => None,
    }
}

/// A token bucket: the time at which it is full again says all about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    full_at: Instant,
}

impl Bucket {
    pub(crate) fn full(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes a token of a bucket of this size, if there is one.
    pub(crate) fn take(&mut self, size: u32, now: Instant) -> bool {
        let after = self.full_at.max(now) + Duration::from_secs(1);
        let fits = after <= now + Duration::from_secs(size.into());
        if fits {
            self.full_at = after;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_a_burst_and_then_one_per_second() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        let taken = [0, 0, 0, 0, 500, 1000, 1000, 9000, 9000, 9000, 9000].map(|millis| {
            let now = start + Duration::from_millis(millis);
            bucket.take(3, now)
        });
        assert_eq!(taken, [true, true, true, false, false, true, false, true, true, true, false]);
    }

    #[test]
    fn webhooks_of_a_space_share_a_limit_and_channels_of_slack_do_not() {
        let bucket_of = |service, channel| limit(service, channel).map(|(bucket, _)| bucket);
        assert_eq!(bucket_of(Service::GoogleChat, "a~x"), bucket_of(Service::GoogleChat, "a~y"));
        assert_ne!(bucket_of(Service::Slack, "a~x"), bucket_of(Service::Slack, "a~y"));
    }
}
