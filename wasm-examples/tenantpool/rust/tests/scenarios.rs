//! The scenarios of the Go twin, and the words of refused configurations.

use berth::testing::{Scenarios, Trial};
use tenant_pool::TenantPool;

#[test]
fn scenarios() {
    Scenarios::in_folder("../testdata").run::<TenantPool>();
}

#[test]
fn refusals() {
    for (config, why) in [
        (
            r#"{"tenant": {}}"#,
            "tenant: there is no such field; there are tenants, shared, others",
        ),
        (
            r#"{"others": "none"}"#,
            "others: expected one of shared, any",
        ),
        (
            r#"{"shared": "a"}"#,
            "shared: expected a list, found a string",
        ),
        (
            r#"{"tenants": {"a": {"pools": ["b", 1]}}}"#,
            "tenants.a.pools[1]: expected a string, found a number",
        ),
        (
            r#"{"tenants": {"a": {"fallback": 1}}}"#,
            "tenants.a.fallback: expected true or false, found a number",
        ),
        ("{\n\"tenants\": }", "line 2: this is not JSON"),
    ] {
        let refused = Trial::<TenantPool>::new(config).refused();
        assert_eq!(
            refused,
            Some(format!("configuration refused: {}", why)),
            "{}",
            config
        );
    }
}
