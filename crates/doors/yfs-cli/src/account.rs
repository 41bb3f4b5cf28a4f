//! The name of the user that runs the command.

use std::{env, fs};

/// The list of the host's accounts.
const ACCOUNTS_FILE: &str = "/etc/passwd";

/// Returns the name of the user: `USER`, else `LOGNAME`, else the account's name, else the number
/// of the account as `uid-1000`.
pub(crate) fn user_name() -> String {
    let variables = ["USER", "LOGNAME"].into_iter();
    let named = variables.filter_map(|name| env::var(name).ok()).find(|name| !name.is_empty());
    named.unwrap_or_else(|| {
        let uid = rustix::process::getuid().as_raw();
        // Accounts of a directory service are not in the file; their number remains.
        let accounts = fs::read_to_string(ACCOUNTS_FILE).unwrap_or_default();
        find_account(&accounts, uid).unwrap_or_else(|| format!("uid-{uid}"))
    })
}

/// Returns the name of an account, from a list in the format of `/etc/passwd`.
fn find_account(accounts: &str, uid: u32) -> Option<String> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (number == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_number() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\n\n:x:5::\nbad\nada:x:1000:1000::/:\n";
        assert_eq!(find_account(accounts, 0).as_deref(), Some("root"));
        assert_eq!(find_account(accounts, 1000).as_deref(), Some("ada"));
        assert_eq!(find_account(accounts, 5), None);
    }
}
