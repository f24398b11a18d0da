//! The folder of the records, in which other users cannot create files. The folder and its files are opened without
//! following links, their owners are checked, and their modes are independent of the umask.

use crate::error::Trying;
use crate::{Error, Result};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, fchmod, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The path of the folder.
pub const PATH: &str = "/run/pifolab";
/// All users may read the records; only the owner may change them.
const FOLDER_MODE: Mode = Mode::from_bits_truncate(0o755);
const FILE_MODE: Mode = Mode::from_bits_truncate(0o644);
/// A process that may open a lock file may hold the lock.
const LOCK_MODE: Mode = Mode::from_bits_truncate(0o600);
/// More bytes than any record has.
const MOST_BYTES: u64 = 1 << 20;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// A lock that this process holds. It ends with the process, however the process ends.
#[derive(Debug)]
pub struct Lock {
    // Closed, and therefore released, after the file is removed.
    _held: Flock<File>,
}

fn failed(path: &Path, what: &str, errno: Errno) -> Error {
    let path = path.display();
    match errno {
        Errno::EPERM | Errno::EACCES | Errno::EROFS => Error::Denied(format!(
            "{what} {path}: {}: it requires root, or a folder {path} of your own; the user-space switch works without: \
             pifolab dataplane switch",
            errno.desc()
        )),
        Errno::ELOOP | Errno::ENOTDIR => {
            Error::Failed(format!("{path}: expected a folder, not a symbolic link; remove it if it is not needed"))
        }
        _ => Error::failed(format!("{what} {path}"), errno.desc()),
    }
}

impl Folder {
    /// Opens `path`, and creates it first if it does not exist.
    pub fn make(path: &Path) -> Result<Self> {
        match fs::DirBuilder::new().mode(FOLDER_MODE.bits()).create(path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(failed(path, "making", Errno::from_raw(error.raw_os_error().unwrap_or(0))));
            }
            _ => {}
        }
        let folder = Self::open(path)?;
        let folder = folder.ok_or_else(|| Error::Failed(format!("{}: it was removed", path.display())))?;
        let owner = fstat(&folder.fd).map_err(|errno| failed(path, "reading", errno))?.st_uid;
        if owner == geteuid().as_raw() {
            fchmod(&folder.fd, FOLDER_MODE).map_err(|errno| failed(path, "setting the mode of", errno))?;
        }
        Ok(folder)
    }

    /// Opens `path`; `None` if it does not exist.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = match open(path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(failed(path, "opening", errno)),
        };
        let stat = fstat(&fd).map_err(|errno| failed(path, "reading", errno))?;
        if !is_trusted(stat.st_uid) || (stat.st_mode & 0o022 != 0 && stat.st_uid != geteuid().as_raw()) {
            return Err(Error::Failed(format!(
                "{}: owned by user {}, mode {:o}: expected a folder of root that others cannot write to; its contents are \
                 ignored",
                path.display(),
                stat.st_uid,
                stat.st_mode & 0o7777
            )));
        }
        Ok(Some(Self { fd, path: path.to_owned() }))
    }

    fn child(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file atomically: others read all of it or nothing.
    pub fn write(&self, name: &str, text: &[u8]) -> Result<()> {
        let path = self.child(name);
        let fresh = format!(".{name}.{}", std::process::id());
        let wrong = |errno| failed(&path, "writing", errno);
        // The file of a killed process with the same number.
        let _ = unlinkat(&self.fd, fresh.as_str(), UnlinkatFlags::NoRemoveDir);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&self.fd, fresh.as_str(), flags, FILE_MODE).map_err(wrong)?;
        let written = fchmod(&file, FILE_MODE)
            .map_err(wrong)
            .and_then(|()| File::from(file).write_all(text).trying(|| format!("writing {}", path.display())))
            .and_then(|()| renameat(&self.fd, fresh.as_str(), &self.fd, name).map_err(wrong));
        if written.is_err() {
            let _ = unlinkat(&self.fd, fresh.as_str(), UnlinkatFlags::NoRemoveDir);
        }
        written
    }

    /// Reads a file that root or this user owns; `None` if there is no such regular file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = File::from(openat(&self.fd, name, flags, Mode::empty()).ok()?);
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_trusted(metadata.uid()) || metadata.mode() & 0o022 != 0 {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The sorted names of the files that end with `extension`.
    pub fn names(&self, extension: &str) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.path).trying(|| format!("reading {}", self.path.display()))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(extension) && !name.starts_with('.')).collect();
        names.sort();
        Ok(names)
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) -> Result<()> {
        match unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(failed(&self.child(name), "removing", errno)),
        }
    }

    /// Takes the lock `name`; `None` if another process holds it.
    pub fn lock(&self, name: &str) -> Result<Option<Lock>> {
        let path = self.child(name);
        let wrong = |errno| failed(&path, "locking", errno);
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        loop {
            let file = File::from(openat(&self.fd, name, flags, LOCK_MODE).map_err(wrong)?);
            let found = fstat(&file).map_err(wrong)?;
            // The file has no name if its last holder has just removed it.
            let is_ours = found.st_mode & libc::S_IFMT == libc::S_IFREG && found.st_nlink <= 1;
            if !is_ours || !is_trusted(found.st_uid) {
                return Err(Error::Failed(format!(
                    "{}: expected a regular file with one link, owned by root or this user; remove it if it is not needed",
                    path.display()
                )));
            }
            fchmod(&file, LOCK_MODE).map_err(wrong)?;
            let held = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(held) => held,
                Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
                Err((_, errno)) => return Err(wrong(errno)),
            };
            // The last holder may have removed the file after this process opened it. A third process may then hold a
            // new file.
            let ours = fstat(&*held).map_err(wrong)?;
            match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
                Ok(there) if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) => {
                    return Ok(Some(Lock { _held: held }));
                }
                Ok(_) | Err(Errno::ENOENT) => {}
                Err(errno) => return Err(wrong(errno)),
            }
        }
    }
}

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A temporary path that is removed with the test.
    pub struct Scratch(pub PathBuf);

    impl Scratch {
        pub fn new() -> Self {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let name = format!("pifolab-record-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a temporary folder");
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    #[test]
    fn modes_of_records_do_not_depend_on_the_umask() {
        // The umask belongs to the whole process, in which other tests run, so a child process tests it.
        let scratch = Scratch::new();
        for umask in [0o000, 0o077] {
            let path = scratch.0.join(format!("records-{umask:o}"));
            // SAFETY: the child creates files and exits, without the destructors of this process.
            match unsafe { nix::unistd::fork() }.expect("a child") {
                nix::unistd::ForkResult::Child => {
                    nix::sys::stat::umask(Mode::from_bits_truncate(umask));
                    let made = Folder::make(&path).and_then(|folder| {
                        folder.write("a.json", b"{}")?;
                        folder.lock("a.lock")
                    });
                    // SAFETY: ends the child.
                    unsafe { libc::_exit(i32::from(!matches!(made, Ok(Some(_))))) };
                }
                nix::unistd::ForkResult::Parent { child } => {
                    let status = nix::sys::wait::waitpid(child, None).expect("it ends");
                    assert_eq!(status, nix::sys::wait::WaitStatus::Exited(child, 0));
                }
            }
            assert_eq!(mode(&path), 0o755, "umask {umask:o}");
            assert_eq!(mode(&path.join("a.json")), 0o644, "umask {umask:o}");
            assert_eq!(mode(&path.join("a.lock")), 0o600, "umask {umask:o}");
        }
    }

    #[test]
    fn links_in_the_place_of_records_are_not_followed() {
        let scratch = Scratch::new();
        let victim = scratch.0.join("victim");
        fs::write(&victim, "theirs").expect("a file");
        let path = scratch.0.join("records");
        let folder = Folder::make(&path).expect("a folder");
        symlink(&victim, path.join("a.json")).expect("a link");
        symlink(&victim, path.join(format!(".a.json.{}", std::process::id()))).expect("a link");
        symlink(&victim, path.join("a.lock")).expect("a link");
        assert_eq!(folder.read("a.json"), None);
        folder.lock("a.lock").expect_err("a link is not a lock");
        folder.write("a.json", b"ours").expect("the link is replaced");
        assert_eq!(folder.read("a.json").as_deref(), Some(&b"ours"[..]));
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "theirs");
        let linked = scratch.0.join("linked");
        symlink(&path, &linked).expect("a link");
        let said = Folder::make(&linked).expect_err("a link is not a folder").to_string();
        assert!(said.contains("symbolic link"), "{said}");
    }

    #[test]
    fn what_is_no_file_of_its_own_in_the_place_of_a_lock_or_a_record_is_an_error_and_stays_as_it_is() {
        let scratch = Scratch::new();
        let path = scratch.0.join("records");
        let folder = Folder::make(&path).expect("a folder");
        let victim = scratch.0.join("victim");
        fs::write(&victim, "theirs").expect("a file");
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o640)).expect("it is ours");
        fs::hard_link(&victim, path.join("linked.lock")).expect("a link");
        nix::unistd::mkfifo(&path.join("pipe.lock"), Mode::from_bits_truncate(0o640)).expect("a pipe");
        fs::create_dir(path.join("folder.lock")).expect("a folder");
        for name in ["linked.lock", "pipe.lock", "folder.lock"] {
            let said = folder.lock(name).expect_err("it is not a lock").to_string();
            assert!(said.contains(name), "{said}");
        }
        assert_eq!((mode(&victim), mode(&path.join("pipe.lock"))), (0o640, 0o640));
        folder.write("folder.lock", b"{}").expect_err("a folder is not a record");
        let names =
            fs::read_dir(&path).expect("it is there").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        assert!(names.into_iter().all(|name| !name.starts_with('.')), "a part of a record was left");
    }

    #[test]
    fn records_that_others_can_write_are_not_believed() {
        let scratch = Scratch::new();
        let folder = Folder::make(&scratch.0.join("records")).expect("a folder");
        folder.write("a.json", b"{}").expect("a file");
        let file = folder.child("a.json");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("it is ours");
        assert_eq!(folder.read("a.json"), None);
    }

    #[test]
    fn one_of_two_gets_a_lock_also_while_files_come_and_go() {
        let scratch = Scratch::new();
        let folder = Folder::make(&scratch.0.join("records")).expect("a folder");
        let first = folder.lock("a.lock").expect("no error").expect("it is free");
        assert!(folder.lock("a.lock").expect("no error").is_none());
        folder.remove("a.lock").expect("it is ours");
        drop(first);
        let holders = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Some(lock) = folder.lock("a.lock").expect("no error") {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                            std::thread::yield_now();
                            holders.fetch_sub(1, Ordering::SeqCst);
                            folder.remove("a.lock").expect("it is ours");
                            drop(lock);
                        }
                    }
                });
            }
        });
    }
}
