import distpriv as dp
from distpriv import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence

TARGET = PrivacyTarget(epsilon=1, delta=1e-3)


def certificate(epsilon: float = 1.0, delta: float = 1e-3, contradicted: bool = False) -> Certificate:
    return Certificate(
        target=TARGET,
        epsilon=epsilon,
        delta=delta,
        assurance="checked",
        theorem="Theorem 4.2",
        evidence=(Evidence.of("DP212", queries=2),),
        contradicted=contradicted,
    )


def test_a_certificate_holds_exactly_if_it_meets_its_target() -> None:
    assert certificate().holds
    assert certificate(epsilon=0.5, delta=0).holds
    assert not certificate(epsilon=1 + 1e-9).holds
    assert not certificate(delta=1.0000001e-3).holds
    assert not certificate(contradicted=True).holds
    assert not certificate(delta=float("nan")).holds


def test_a_certificate_reads_as_a_statement_with_its_evidence() -> None:
    assert str(certificate()).splitlines() == [
        "(1, 0.001)-distribution privacy at assurance 'checked', by Theorem 4.2: the target (1, 0.001) holds",
        "  checked: all queries and their noise were fixed before the first answer (2 queries, declared in the ledger) "
        "[DP212]",
    ]
    assert "DOES NOT HOLD" in str(certificate(delta=0.1))


def test_a_mechanism_reads_as_its_error_and_its_certificate() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")], names=["x"])
    mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    assert mechanism.statistics == ("x",)
    assert str(mechanism).startswith("expected_value_gaussian: expected error 2.054 (L2)\n(1, 0.00")
