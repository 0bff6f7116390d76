//! The places where a process of a fleet runs, the most precise first: a task of ECS, a pod of
//! Kubernetes, an instance of EC2. A pod on EC2 is a pod.

use std::net::IpAddr;

use serde_json::Value;

use super::Identity;
use super::metadata::Metadata;

const EC2_ENDPOINT: &str = "http://169.254.169.254";

/// What a process can see of its place without asking anybody.
pub(super) struct Surroundings<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The firmware says that this is EC2: elsewhere nobody would answer, and everybody would wait.
    pub(super) on_ec2: bool,
}

impl Surroundings<'_> {
    /// The environment and firmware of this process.
    pub(super) fn of_this_process() -> Surroundings<'static> {
        Surroundings { variable: &|name| std::env::var(name).ok(), on_ec2: firmware_is_ec2() }
    }

    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }
}

/// Where we are; empty fields for what cannot be told.
pub(super) fn discover(surroundings: &Surroundings<'_>) -> Identity {
    let found = task(surroundings).or_else(|| pod(surroundings)).or_else(|| instance(surroundings));
    let mut identity = found.unwrap_or_default();
    // What is no address would only mislead.
    if identity.ip_address.parse::<IpAddr>().is_err() {
        identity.ip_address.clear();
    }
    identity
}

/// ECS, on EC2 or Fargate: the agent gives each container the address of its metadata.
fn task(surroundings: &Surroundings<'_>) -> Option<Identity> {
    let address = surroundings.get("ECS_CONTAINER_METADATA_URI_V4")?;
    let address = address.trim_end_matches('/');
    let metadata = Metadata::new();
    let task = metadata.get_json(&format!("{address}/task"))?;
    let instance_id = task["TaskARN"].as_str().filter(|arn| !arn.is_empty())?.to_owned();
    // Containers of one task may differ in address, so ours is asked about itself.
    let container = metadata.get_json(address).unwrap_or(Value::Null);
    let ip_address = container["Networks"][0]["IPv4Addresses"][0].as_str().unwrap_or_default().to_owned();
    Some(Identity { instance_id, ip_address })
}

/// Kubernetes: the pod's name is its host name, unless the manifest passes it on.
fn pod(surroundings: &Surroundings<'_>) -> Option<Identity> {
    let named = surroundings.get("POD_NAME");
    let inside = surroundings.get("KUBERNETES_SERVICE_HOST").is_some();
    let instance_id = named.or_else(|| surroundings.get("HOSTNAME").filter(|_| inside))?;
    Some(Identity { instance_id, ip_address: surroundings.get("POD_IP").unwrap_or_default() })
}

/// EC2, by its metadata service, version 2.
fn instance(surroundings: &Surroundings<'_>) -> Option<Identity> {
    let disabled = surroundings.get("AWS_EC2_METADATA_DISABLED");
    if disabled.is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
        return None;
    }
    let endpoint = match surroundings.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") {
        Some(endpoint) => endpoint,
        None if surroundings.on_ec2 => EC2_ENDPOINT.to_owned(),
        None => return None,
    };
    let endpoint = endpoint.trim().trim_end_matches('/');
    let metadata = Metadata::new();
    let token = metadata.token(endpoint)?;
    let ask = |what: &str| {
        let url = format!("{endpoint}/latest/meta-data/{what}");
        metadata.get(&url, Some(("x-aws-ec2-metadata-token", token.as_str()))).map(|text| text.trim().to_owned())
    };
    let instance_id = ask("instance-id").filter(|id| !id.is_empty())?;
    Some(Identity { instance_id, ip_address: ask("local-ipv4").unwrap_or_default() })
}

#[cfg(target_os = "linux")]
fn firmware_is_ec2() -> bool {
    let says = |file: &str, start: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim().to_ascii_lowercase().starts_with(start))
    };
    // Nitro instances by their vendor, older ones by the UUID of their hypervisor.
    says("/sys/class/dmi/id/sys_vendor", "amazon ec2")
        || says("/sys/class/dmi/id/board_vendor", "amazon ec2")
        || says("/sys/hypervisor/uuid", "ec2")
}

#[cfg(not(target_os = "linux"))]
fn firmware_is_ec2() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use super::*;

    /// Plays a metadata service: answers each path with its text, everything else with 404.
    struct Service {
        url: String,
        asked: Arc<Mutex<Vec<String>>>,
    }

    const TOKEN: &str = "token-of-this-session";

    fn play(answers: &[(&str, &str)], needs_token: bool) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers: BTreeMap<String, String> =
            answers.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &answers, needs_token, &seen);
            }
        });
        Service { url, asked }
    }

    fn answer(
        mut stream: TcpStream,
        answers: &BTreeMap<String, String>,
        needs_token: bool,
        seen: &Mutex<Vec<String>>,
    ) -> std::io::Result<()> {
        let mut head = Vec::new();
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        while let Some(line) = lines.next().transpose()?.filter(|line| !line.is_empty()) {
            head.push(line);
        }
        let first = head.first().cloned().unwrap_or_default();
        seen.lock().unwrap().push(first.trim_end_matches(" HTTP/1.1").to_owned());
        let path = first.split(' ').nth(1).unwrap_or_default();
        let has_token =
            head.iter().any(|line| line.to_ascii_lowercase() == format!("x-aws-ec2-metadata-token: {TOKEN}"));
        let asks_token = first.starts_with("PUT /latest/api/token")
            && head.iter().any(|line| line.to_ascii_lowercase().starts_with("x-aws-ec2-metadata-token-ttl-seconds:"));
        let (status, body) = match answers.get(path) {
            _ if needs_token && asks_token => ("200 OK", TOKEN),
            _ if needs_token && !has_token => ("401 Unauthorized", ""),
            Some(body) => ("200 OK", body.as_str()),
            None => ("404 Not Found", "none"),
        };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    }

    fn look(variables: &[(&str, &str)], on_ec2: bool) -> Identity {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        discover(&Surroundings { variable: &|name| variables.get(name).map(|value| (*value).to_owned()), on_ec2 })
    }

    fn identity(instance_id: &str, ip_address: &str) -> Identity {
        Identity { instance_id: instance_id.to_owned(), ip_address: ip_address.to_owned() }
    }

    const ARN: &str = "arn:aws:ecs:us-west-2:111122223333:task/default/158d1c8083dd49d6b527399fd6414f5c";

    #[test]
    fn a_task_is_known_by_its_arn_and_the_address_of_our_container() {
        let task = format!(r#"{{"Cluster":"default","TaskARN":"{ARN}","Containers":[{{"Networks":[]}}]}}"#);
        let container = r#"{"Name":"ids","Networks":[{"NetworkMode":"awsvpc","IPv4Addresses":["10.0.2.106"]}]}"#;
        let service = play(&[("/v4/abc/task", task.as_str()), ("/v4/abc", container)], false);
        let address = format!("{}/v4/abc", service.url);
        // A pod's variables are there too: the task is asked first.
        let found = look(&[("ECS_CONTAINER_METADATA_URI_V4", &address), ("POD_NAME", "pod-7")], true);
        assert_eq!(found, identity(ARN, "10.0.2.106"));
    }

    #[test]
    fn a_pod_is_known_by_its_name_and_on_ec2_it_is_still_a_pod() {
        let named = [("POD_NAME", "ids-6c9f-x2x"), ("POD_IP", "10.1.2.3"), ("HOSTNAME", "other")];
        assert_eq!(look(&named, true), identity("ids-6c9f-x2x", "10.1.2.3"));
        let inside = [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("HOSTNAME", "ids-0")];
        assert_eq!(look(&inside, true), identity("ids-0", ""));
        assert_eq!(look(&[("HOSTNAME", "laptop")], false), Identity::default(), "a host name alone is no pod");
        assert_eq!(look(&[("POD_NAME", "p"), ("POD_IP", "<none>")], false), identity("p", ""));
    }

    #[test]
    fn an_instance_is_known_by_its_metadata_with_a_session_token() {
        let answers = [("/latest/meta-data/instance-id", "i-0abc\n"), ("/latest/meta-data/local-ipv4", "10.9.8.7")];
        let service = play(&answers, true);
        let endpoint = format!("{}/", service.url);
        assert_eq!(look(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &endpoint)], false), identity("i-0abc", "10.9.8.7"));
        assert_eq!(service.asked.lock().unwrap()[0], "PUT /latest/api/token");
    }

    #[test]
    fn a_metadata_service_that_is_disabled_or_not_expected_is_never_asked() {
        let service = play(&[("/latest/meta-data/instance-id", "i-0abc")], true);
        let endpoint = ("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url.as_str());
        assert_eq!(look(&[endpoint, ("AWS_EC2_METADATA_DISABLED", "True")], true), Identity::default());
        let at_once = || {
            let began = Instant::now();
            assert_eq!(look(&[], false), Identity::default(), "a laptop");
            began.elapsed() < Duration::from_millis(250)
        };
        assert!((0..5).any(|_| at_once()), "nobody is waited for, whatever else the machine does");
        assert_eq!(*service.asked.lock().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_service_that_accepts_and_never_answers_costs_a_moment() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let began = Instant::now();
        let found =
            look(&[("ECS_CONTAINER_METADATA_URI_V4", &url), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)], false);
        assert_eq!(found, Identity::default());
        // Two questions of 300 ms; the rest is for a machine under load.
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    }

    #[test]
    fn nonsense_is_no_place() {
        let service = play(&[("/task", "<html>"), ("/latest/meta-data/instance-id", "")], true);
        for address in [service.url.as_str(), "not a url", "http://", "ftp://127.0.0.1/", "http://127.0.0.1:1"] {
            let variables =
                [("ECS_CONTAINER_METADATA_URI_V4", address), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)];
            assert_eq!(look(&variables, false), Identity::default(), "{address}");
        }
    }
}
