//! The text after `dynamodb://`: a table or its ARN, and how to reach it.

use std::time::Duration;

use super::errors::shown;
use crate::error::Error;

/// Answers that take longer than this count as none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2);
const ALLOWED: &str = "dynamodb://TABLE-or-ARN, then optionally ?region=REGION&endpoint=URL; a table name has \
                       3 to 255 letters, digits, `_`, `-` or `.`";

/// Which table, and how to reach it. Whatever is left out comes from the SDK's usual chain:
/// environment variables, the shared config file, the metadata of a task or an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamoDbConfig {
    text: String,
    table: String,
    region: Option<String>,
    endpoint: Option<String>,
    timeout: Duration,
}

impl DynamoDbConfig {
    /// Reads the text after `dynamodb://`, such as `ids`, `ids?region=eu-west-1`,
    /// `ids?endpoint=http://localhost:8000` or
    /// `arn:aws:dynamodb:us-east-1:123456789012:table/ids`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` naming the part, its value and what is allowed.
    pub fn parse(text_after_scheme: &str) -> Result<DynamoDbConfig, Error> {
        let (table, query) = match text_after_scheme.split_once('?') {
            Some((table, query)) => (table, query),
            None => (text_after_scheme, ""),
        };
        let table = percent_decoded(table).ok_or_else(|| Error::invalid("store", text_after_scheme, ALLOWED))?;
        let arn_region = if table.starts_with("arn:") {
            Some(region_of_arn(&table).ok_or_else(|| {
                Error::invalid("store", &table, "an ARN like arn:aws:dynamodb:REGION:ACCOUNT:table/NAME")
            })?)
        } else if is_table_name(&table) {
            None
        } else {
            return Err(Error::invalid("store", format_args!("dynamodb://{table}"), ALLOWED));
        };
        let mut config = DynamoDbConfig {
            text: text_after_scheme.to_owned(),
            table,
            region: None,
            endpoint: None,
            timeout: DEFAULT_TIMEOUT,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            config.set_query(pair)?;
        }
        match (&arn_region, &config.region) {
            (Some(arn), Some(given)) if arn != given => {
                return Err(Error::invalid("store: `region`", given, format_args!("the ARN's own, {arn}")));
            }
            (Some(arn), _) => config.region = Some(arn.clone()),
            (None, _) => {}
        }
        Ok(config)
    }

    fn set_query(&mut self, pair: &str) -> Result<(), Error> {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decoded(value)
            .ok_or_else(|| Error::invalid("store: query", pair, "text with %XX escapes in UTF-8"))?;
        let slot = match key {
            "region" if is_region(&value) => &mut self.region,
            "region" => return Err(Error::invalid("store: `region`", &value, "an AWS region, such as us-east-1")),
            "endpoint" if is_endpoint(&value) => &mut self.endpoint,
            "endpoint" => {
                let allowed = "http:// or https:// with a host, such as http://localhost:8000";
                return Err(Error::invalid("store: `endpoint`", &value, allowed));
            }
            _ => {
                let given = format!("{key}={value}");
                return Err(Error::invalid("store: unknown query key", given, "region, endpoint"));
            }
        };
        if slot.is_some() {
            return Err(Error::invalid("store: query key given twice", key, "each of region, endpoint once"));
        }
        *slot = Some(value);
        Ok(())
    }

    /// The same with another time after which an answer counts as lost (2 s by default).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> DynamoDbConfig {
        self.timeout = timeout;
        self
    }

    /// The table's name or ARN, as given.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The `store` option as a shell takes it, for commands in messages.
    pub(super) fn store_argument(&self) -> String {
        let text = shown(&self.text);
        if text.contains(['?', '&', '%']) { format!("'dynamodb://{text}'") } else { format!("dynamodb://{text}") }
    }

    /// The table's name without the rest of an ARN.
    pub fn table_name(&self) -> &str {
        self.table.rsplit_once('/').map_or(&self.table, |(_, name)| name)
    }

    /// The region, if the text or the ARN names one.
    pub fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// The endpoint, if the text names one.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// After how long an answer counts as lost.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }
}

fn is_table_name(text: &str) -> bool {
    (3..=255).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn is_region(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_endpoint(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return false;
    };
    let host = rest.split('/').next().unwrap_or_default();
    !host.is_empty()
        && !host.starts_with(':')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'@' | b'?' | b'#' | b'"' | b'\\'))
}

/// The region within `arn:PARTITION:dynamodb:REGION:ACCOUNT:table/NAME`.
pub(super) fn region_of_arn(arn: &str) -> Option<String> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let [_, partition, "dynamodb", region, account, resource] = parts[..] else {
        return None;
    };
    let table = resource.strip_prefix("table/")?;
    let sound = partition.starts_with("aws")
        && is_region(region)
        && !account.is_empty()
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && is_table_name(table);
    sound.then(|| region.to_owned())
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let digit = |offset: usize| bytes.get(at + offset).and_then(|&hex| char::from(hex).to_digit(16));
            decoded.push((digit(1)? * 16 + digit(2)?) as u8);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn a_table_an_arn_a_region_and_an_endpoint_are_read() {
        let plain = DynamoDbConfig::parse("WorkerNodeRegistryTable").unwrap();
        assert_eq!((plain.table(), plain.region(), plain.endpoint()), ("WorkerNodeRegistryTable", None, None));
        assert_eq!(plain.timeout(), Duration::from_secs(2));

        let full = DynamoDbConfig::parse("ids?region=eu-west-1&endpoint=http%3A%2F%2Flocalhost:8000").unwrap();
        assert_eq!(full.region(), Some("eu-west-1"));
        assert_eq!(full.endpoint(), Some("http://localhost:8000"));

        let arn = DynamoDbConfig::parse("arn:aws:dynamodb:us-west-2:123456789012:table/ids").unwrap();
        assert_eq!((arn.region(), arn.table_name()), (Some("us-west-2"), "ids"));
        let china = DynamoDbConfig::parse("arn:aws-cn:dynamodb:cn-north-1:123456789012:table/ids").unwrap();
        assert_eq!(china.region(), Some("cn-north-1"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_value_and_what_is_allowed() {
        for (text, parts) in [
            ("", &["3 to 255"][..]),
            ("ab", &["ab", "3 to 255"]),
            ("a/b/c", &["a/b/c"]),
            ("ids?regoin=us-east-1", &["regoin", "us-east-1", "region, endpoint"]),
            ("ids?region=", &["region", "us-east-1"]),
            ("ids?region=US", &["region", "US"]),
            ("ids?region=a&region=b", &["twice", "region"]),
            ("ids?endpoint=localhost:8000", &["endpoint", "localhost:8000", "http://"]),
            ("ids?endpoint=http://", &["endpoint", "http://"]),
            ("ids?endpoint=http://a b", &["endpoint"]),
            ("ids?endpoint=http://user:pw@host", &["endpoint"]),
            ("ids?endpoint=%zz", &["%XX"]),
            ("ids?endpoint=%c3%28", &["%XX"]),
            ("arn:aws:s3:::bucket", &["arn:aws:dynamodb:REGION:ACCOUNT:table/NAME"]),
            ("arn:aws:dynamodb:us-east-1:1:table/ids?region=us-west-2", &["us-west-2", "us-east-1"]),
        ] {
            let error = DynamoDbConfig::parse(text).expect_err(text);
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{text}");
            for part in parts {
                assert!(error.message().contains(part), "{text}: {}", error.message());
            }
        }
    }
}
