//! Cases in text files, which the SDKs of all languages read.

use std::fs;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use super::cluster::{Labels, Node, Numbers, Pod, Port, Taint, Toleration};
use super::trial::Trial;
use crate::guest::Exported;

/// Runs a plugin on scenario files. A file has lines, one thing each:
///
/// ```text
/// config {"shared": ["general"]}
/// node a labels=berth.dev/pool:general allocatable=cpu:8000
/// pod default/web node=a requests=cpu:500 labels=app:web
/// try default/new requests=cpu:100
/// ----
/// a Success 0
/// ```
///
/// A config line, which may go on over indented lines, begins with an empty cluster. The lines
/// after `----`, up to an empty line, are what is expected of a try, or of a configuration that
/// is refused. With `BERTHTEST_REWRITE=1` in the environment they are written instead.
///
/// Fields of a node are labels, annotations, allocatable, conditions, images (key:value,…),
/// taints (key:value:effect,…) and unschedulable; of a pod labels, annotations, requests,
/// nodeSelector, priority, owner, node, terminating, hostPorts (port/protocol,…), images
/// (name,…) and tolerations (key:value:effect,…; an empty value is operator Exists).
pub struct Scenarios {
    folder: PathBuf,
}

impl Scenarios {
    /// The files `*.txt` of a folder, relative to the crate's.
    pub fn in_folder(folder: &str) -> Scenarios {
        Scenarios {
            folder: folder.into(),
        }
    }

    /// Runs all files with a plugin.
    ///
    /// # Panics
    ///
    /// If there are no files, or one is not what the plugin does.
    pub fn run<P: Exported>(&self) {
        let entries = fs::read_dir(&self.folder);
        let entries = entries.unwrap_or_else(|e| panic!("{}: {}", self.folder.display(), e));
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("a folder can be read").path())
            .filter(|path| path.extension().map_or(false, |e| e == "txt"))
            .collect();
        files.sort();
        assert!(
            !files.is_empty(),
            "{} has no scenarios",
            self.folder.display()
        );
        let rewrite = std::env::var_os("BERTHTEST_REWRITE").map_or(false, |v| v == "1");
        let wrong: Vec<String> = files
            .iter()
            .flat_map(|path| self.file::<P>(path, rewrite))
            .collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// Runs one file and returns what is wrong with it.
    fn file<P: Exported>(&self, path: &Path, rewrite: bool) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {}", path.display(), e));
        let mut file = File {
            lines: text.lines().collect(),
            at: 0,
            out: String::new(),
            trial: Trial::<P>::new("{}"),
        };
        let mut wrong = Vec::new();
        while file.at < file.lines.len() {
            let line = file.next();
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let at = file.at;
            let got = file
                .run(line)
                .unwrap_or_else(|e| panic!("{}:{}: {}", path.display(), at, e));
            let got = match got {
                Some(got) => got,
                None => continue,
            };
            let want = file.expected();
            file.out += "----\n";
            got.iter().for_each(|line| file.print(line));
            if got != want && !rewrite {
                let (got, want) = (got.join("\n"), want.join("\n"));
                let at = std::format!("{}:{}", path.display(), at);
                wrong.push(std::format!("{}: got\n{}\nwant\n{}\n", at, got, want));
            }
        }
        if rewrite {
            fs::write(path, file.out).unwrap_or_else(|e| panic!("{}: {}", path.display(), e));
        }
        wrong
    }
}

/// A scenario file on its way through.
struct File<'t, P> {
    lines: Vec<&'t str>,
    /// The next line.
    at: usize,
    out: String,
    trial: Trial<P>,
}

impl<'t, P: Exported> File<'t, P> {
    fn print(&mut self, line: &str) {
        self.out += line;
        self.out += "\n";
    }

    /// Takes a line over.
    fn next(&mut self) -> &'t str {
        let line = self.lines[self.at];
        self.at += 1;
        self.print(line);
        line
    }

    fn follows(&self, prefix: &str) -> bool {
        self.lines
            .get(self.at)
            .map_or(false, |line| line.starts_with(prefix))
    }

    /// The lines after `----`, which are not taken over.
    fn expected(&mut self) -> Vec<String> {
        let mut want = Vec::new();
        if self.follows("----") {
            self.at += 1;
            while self.at < self.lines.len() && !self.lines[self.at].trim().is_empty() {
                want.push(self.lines[self.at].into());
                self.at += 1;
            }
        }
        want
    }

    /// Carries out one line and returns what it shows, if anything.
    fn run(&mut self, line: &'t str) -> Result<Option<Vec<String>>, String> {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("config") => {
                let mut config: String = line["config".len()..].into();
                while self.follows(" ") {
                    config += self.next();
                }
                self.trial = Trial::new(config.trim());
                if !self.follows("----") {
                    return Ok(None);
                }
                let shown = self.trial.refused().unwrap_or_else(|| "accepted".into());
                Ok(Some(std::vec![shown]))
            }
            Some("node") => {
                self.trial.nodes.push(node(words)?);
                Ok(None)
            }
            Some("pod") => {
                let pod = pod(words)?;
                let on = self
                    .trial
                    .nodes
                    .iter_mut()
                    .find(|node| node.name == pod.node_name);
                match on {
                    Some(node) => node.pods.push(pod),
                    None => return Err(std::format!("there is no node {}", pod.node_name)),
                }
                Ok(None)
            }
            Some("try") => {
                let verdicts = self.trial.place(&pod(words)?);
                Ok(Some(verdicts.iter().map(ToString::to_string).collect()))
            }
            other => Err(std::format!("unknown command {}", other.unwrap_or(""))),
        }
    }
}

fn node<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<Node, String> {
    let mut n = Node {
        name: words.next().ok_or("a node needs a name")?.into(),
        ..Node::default()
    };
    for word in words {
        let (field, value) = word.split_once('=').unwrap_or((word, ""));
        match field {
            "labels" => n.labels = pairs(value),
            "annotations" => n.annotations = pairs(value),
            "conditions" => n.conditions = pairs(value),
            "allocatable" => n.allocatable = numbers(value)?,
            "images" => n.images = numbers(value)?,
            "unschedulable" => n.unschedulable = true,
            "taints" => {
                n.taints = list(value)
                    .map(|taint| {
                        let [key, value, effect] = parts(taint);
                        Taint { key, value, effect }
                    })
                    .collect();
            }
            _ => return Err(std::format!("a node has no field {}", field)),
        }
    }
    Ok(n)
}

fn pod<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<Pod, String> {
    let name = words.next().and_then(|word| word.split_once('/'));
    let (namespace, name) = name.ok_or("a pod needs namespace/name")?;
    let mut p = Pod {
        namespace: namespace.into(),
        name: name.into(),
        ..Pod::default()
    };
    for word in words {
        let (field, value) = word.split_once('=').unwrap_or((word, ""));
        let bad = |e: &dyn std::fmt::Display| std::format!("{}: {}", word, e);
        match field {
            "node" => p.node_name = value.into(),
            "labels" => p.labels = pairs(value),
            "annotations" => p.annotations = pairs(value),
            "nodeSelector" => p.node_selector = pairs(value),
            "requests" => p.requests = numbers(value)?,
            "priority" => p.priority = value.parse().map_err(|e| bad(&e))?,
            "owner" => p.owner = value.into(),
            "terminating" => p.terminating = true,
            "images" => p.images = list(value).map(String::from).collect(),
            "hostPorts" => {
                for port in list(value) {
                    let (number, protocol) = port.split_once('/').unwrap_or((port, ""));
                    p.host_ports.push(Port {
                        ip: String::new(),
                        port: number.parse().map_err(|e| bad(&e))?,
                        protocol: protocol.into(),
                    });
                }
            }
            "tolerations" => {
                p.tolerations = list(value)
                    .map(|toleration| {
                        let [key, value, effect] = parts(toleration);
                        let operator = if value.is_empty() { "Exists" } else { "Equal" };
                        Toleration {
                            key,
                            operator: operator.into(),
                            value,
                            effect,
                            seconds: None,
                        }
                    })
                    .collect();
            }
            _ => return Err(std::format!("a pod has no field {}", field)),
        }
    }
    Ok(p)
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').filter(|part| !part.is_empty())
}

fn parts(value: &str) -> [String; 3] {
    let mut all = value.split(':').map(String::from);
    [(); 3].map(|_| all.next().unwrap_or_default())
}

fn pairs(value: &str) -> Labels {
    list(value)
        .map(|pair| {
            let (key, value) = pair.split_once(':').unwrap_or((pair, ""));
            (key.into(), value.into())
        })
        .collect()
}

/// key:number; the number is after the last colon.
fn numbers(value: &str) -> Result<Numbers, String> {
    list(value)
        .map(|pair| {
            let (key, number) = pair
                .rsplit_once(':')
                .ok_or(std::format!("{}: want key:number", pair))?;
            let number = number
                .parse()
                .map_err(|e| std::format!("{}: {}", pair, e))?;
            Ok((key.into(), number))
        })
        .collect()
}
