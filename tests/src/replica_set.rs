//! A replica set of several members on this machine, whose members can be killed.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bson::{Document, doc};
use odm::mongodb::driver::Client;
use tempfile::TempDir;

/// How long the members may take to agree on a primary.
const PATIENCE: Duration = Duration::from_secs(60);

const NAME: &str = "odm_members";

/// A replica set of three members. They end with it.
#[derive(Debug)]
pub struct ReplicaSet {
    members: Vec<Member>,
    _directory: TempDir,
}

#[derive(Debug)]
struct Member {
    port: u16,
    data: PathBuf,
    /// Asks this member alone.
    client: Client,
    process: Option<Child>,
}

impl ReplicaSet {
    /// Starts one with the program that `ODM_TEST_MONGOD` names; `None` where it names none.
    pub async fn start() -> Option<ReplicaSet> {
        let Some(program) = program() else {
            eprintln!("skipped: set ODM_TEST_MONGOD to the path of a mongod to run this on a replica set");
            return None;
        };
        let directory = tempfile::tempdir().expect("a temporary directory");
        // Held together, so that no port is given twice.
        let free: Vec<_> = (0..3)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let ports: Vec<u16> = free
            .iter()
            .map(|listener| listener.local_addr().expect("an address").port())
            .collect();
        drop(free);
        let mut members = Vec::new();
        for port in ports {
            let data = directory.path().join(port.to_string());
            std::fs::create_dir(&data).expect("a directory");
            members.push(Member::new(port, data).await);
        }
        let mut set = ReplicaSet {
            members,
            _directory: directory,
        };
        for member in &mut set.members {
            member.start(&program);
        }
        set.initiate().await;
        set.primary().await;
        Some(set)
    }

    /// The URL of a database of it.
    pub fn url(&self, database: &str) -> String {
        let hosts: Vec<_> = self.members.iter().map(Member::host).collect();
        format!("mongodb://{}/{database}?replicaSet={NAME}", hosts.join(","))
    }

    /// Waits until a primary takes writes, and gives its position.
    pub async fn primary(&self) -> usize {
        let begun = Instant::now();
        loop {
            for (position, member) in self.members.iter().enumerate() {
                if member.process.is_some()
                    && let Some(hello) = member.ask(doc! { "hello": 1 }).await
                    && hello.get_bool("isWritablePrimary").unwrap_or(false)
                {
                    return position;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "no primary within a minute");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Kills a member, as the kernel does.
    pub fn kill(&mut self, position: usize) {
        self.members[position].kill();
    }

    /// Starts a member that was killed, and waits until it follows the others.
    pub async fn restart(&mut self, position: usize) {
        let program = program().expect("a program");
        let member = &mut self.members[position];
        member.start(&program);
        let begun = Instant::now();
        loop {
            if let Some(hello) = member.ask(doc! { "hello": 1 }).await
                && ["secondary", "isWritablePrimary"]
                    .iter()
                    .any(|state| hello.get_bool(state).unwrap_or(false))
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "a member does not come back");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn initiate(&self) {
        let members = self.members.iter().enumerate();
        let members: Vec<_> = members
            .map(|(id, member)| doc! { "_id": id as i32, "host": member.host() })
            .collect();
        let config = doc! {
            "_id": NAME,
            "members": members,
            "settings": { "electionTimeoutMillis": 2_000, "heartbeatIntervalMillis": 500 },
        };
        let begun = Instant::now();
        while self.members[0]
            .ask(doc! { "replSetInitiate": config.clone() })
            .await
            .is_none()
        {
            assert!(begun.elapsed() < PATIENCE, "the members do not answer");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Drop for ReplicaSet {
    fn drop(&mut self) {
        self.members.iter_mut().for_each(Member::kill);
    }
}

impl Member {
    async fn new(port: u16, data: PathBuf) -> Member {
        let url = format!(
            "mongodb://127.0.0.1:{port}/?directConnection=true&serverSelectionTimeoutMS=2000&connectTimeoutMS=2000"
        );
        Member {
            port,
            data,
            client: Client::with_uri_str(url).await.expect("the URL is read"),
            process: None,
        }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn start(&mut self, program: &str) {
        let started = Command::new(program)
            .args([
                "--replSet",
                NAME,
                "--bind_ip",
                "127.0.0.1",
                "--wiredTigerCacheSizeGB",
                "0.25",
            ])
            .args(["--port", &self.port.to_string()])
            .arg("--dbpath")
            .arg(&self.data)
            .arg("--logpath")
            .arg(self.data.join("log"))
            .stdout(Stdio::null())
            .spawn();
        self.process = Some(started.expect("mongod starts"));
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // One that ended by itself is as dead.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Its answer, if it gives one.
    async fn ask(&self, command: Document) -> Option<Document> {
        self.client.database("admin").run_command(command).await.ok()
    }
}

fn program() -> Option<String> {
    std::env::var("ODM_TEST_MONGOD")
        .ok()
        .filter(|program| !program.is_empty())
}
