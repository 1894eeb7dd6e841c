import distpriv as dp


def test_a_mechanism_reads_as_its_error_and_its_certificate() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")], names=["x"])
    mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    assert mechanism.statistics == ("x",)
    assert str(mechanism).startswith("expected_value_gaussian: expected error 2.054 (L2)\n(1, 0.00")
