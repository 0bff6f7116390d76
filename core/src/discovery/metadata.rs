//! The metadata services of ECS and EC2: plain HTTP to a neighbour that answers at once or is not
//! there.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

/// A neighbour takes a millisecond; nobody waits longer for a name that only people read.
const TIMEOUT: Duration = Duration::from_millis(300);
/// A task's metadata is some kilobytes.
const LARGEST: u64 = 256 * 1024;

/// Asks metadata services. Every question ends within 300 ms; what goes wrong is no answer.
pub(super) struct Metadata {
    agent: Agent,
}

impl Metadata {
    pub(super) fn new() -> Metadata {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            // A metadata service is never behind a proxy, whatever the environment says.
            .proxy(None)
            .max_redirects(0)
            .user_agent("leaseflake")
            .build();
        Metadata { agent: config.into() }
    }

    /// The text at a URL.
    pub(super) fn get(&self, url: &str, header: Option<(&str, &str)>) -> Option<String> {
        let mut request = self.agent.get(url);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let mut answer = request.call().ok()?;
        if answer.status() != 200 {
            return None;
        }
        answer.body_mut().with_config().limit(LARGEST).read_to_string().ok()
    }

    /// The JSON at a URL.
    pub(super) fn get_json(&self, url: &str) -> Option<Value> {
        serde_json::from_str(&self.get(url, None)?).ok()
    }

    /// A session token of EC2's service, version 2; version 1 is not spoken.
    pub(super) fn token(&self, endpoint: &str) -> Option<String> {
        let request =
            self.agent.put(format!("{endpoint}/latest/api/token")).header("x-aws-ec2-metadata-token-ttl-seconds", "60");
        let mut answer = request.send_empty().ok()?;
        if answer.status() != 200 {
            return None;
        }
        answer.body_mut().with_config().limit(LARGEST).read_to_string().ok()
    }
}
