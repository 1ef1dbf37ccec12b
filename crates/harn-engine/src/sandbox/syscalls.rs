//! Seccomp: system calls that no build or test needs and that lead out of a sandbox, and sockets.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::guard::Network;

/// Refused with any arguments: other processes, the kernel, mounts, namespaces, clocks.
const REFUSED: [libc::c_long; 46] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// As if the kernel had never heard of them, so that programs fall back to what they used before: the flags of
/// `clone3` cannot be looked at, and `io_uring` opens sockets without a system call.
const UNKNOWN: [libc::c_long; 4] =
    [libc::SYS_clone3, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_uring_setup];

const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// A second set of numbers for the same calls on this architecture.
#[cfg(target_arch = "x86_64")]
const ALIAS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const ALIAS: Option<i64> = None;

/// Restricts this process for good. An error says what the kernel does not do.
pub(crate) fn restrict_syscalls(network: Network) -> Result<(), String> {
    let failed = |error: Error| format!("seccomp failed: {error}");
    // Both are made before either is applied: all or nothing.
    let refused = refused(network).map_err(failed)?;
    let unknown = unknown().map_err(failed)?;
    apply_filter(&unknown).and_then(|()| apply_filter(&refused)).map_err(failed)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused(network: Network) -> Result<BpfProgram, Error> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend([(libc::SYS_iopl, Vec::new()), (libc::SYS_ioperm, Vec::new())]);
    let in_a_new_namespace = NEW_NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        SeccompRule::new(vec![condition(SeccompCmpOp::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, in_a_new_namespace.collect::<Result<_, _>>()?);
    let families = families(network);
    let other_family =
        families.iter().map(|family| condition(SeccompCmpOp::Ne, u64::from(family.cast_unsigned())));
    let other_family = SeccompRule::new(other_family.collect::<Result<_, _>>()?)?;
    rules.insert(libc::SYS_socket, vec![other_family]);
    filter(rules, libc::EPERM)
}

fn unknown() -> Result<BpfProgram, Error> {
    filter(UNKNOWN.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)
}

/// The kinds of socket that may be made.
fn families(network: Network) -> &'static [libc::c_int] {
    match network {
        Network::Closed => &[libc::AF_UNIX],
        Network::Open => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    }
}

/// On the first argument.
fn condition(operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value)
}

fn filter(mut rules: Rules, errno: libc::c_int) -> Result<BpfProgram, Error> {
    if let Some(alias) = ALIAS {
        let again = rules.iter().map(|(call, rules)| (call | alias, rules.clone())).collect::<Vec<_>>();
        rules.extend(again);
    }
    let action = SeccompAction::Errno(errno.cast_unsigned());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()?)
}
