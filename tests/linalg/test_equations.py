from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

from oracles.synthetic import random_spd, random_stable
from textlds.errors import ConvergenceError
from textlds.linalg.equations import solve_generalised_lyapunov, solve_lyapunov, solve_riccati


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("seed", range(3))
def test_lyapunov_is_scipys(seed, radius):
    rng = np.random.default_rng(seed)
    A, S = random_stable(rng, 6, radius=radius), rng.standard_normal((6, 6))  # S need not be symmetric
    X = solve_lyapunov(A, S)
    expected = sl.solve_discrete_lyapunov(A, S, method="direct")
    assert np.linalg.norm(X - expected) <= 1e-10 * np.linalg.norm(expected)
    assert np.linalg.norm(A @ X @ A.T + S - X) <= 1e-12 * np.linalg.norm(X)


def test_lyapunov_of_a_strongly_non_normal_matrix():
    A = np.array([[0.9, 50.0], [0.0, 0.9]])
    X = solve_lyapunov(A, np.eye(2))
    np.testing.assert_allclose(X, sl.solve_discrete_lyapunov(A, np.eye(2)), rtol=1e-9)


def test_lyapunov_of_nothing():
    np.testing.assert_array_equal(solve_lyapunov(0.5 * np.eye(2), np.zeros((2, 2))), np.zeros((2, 2)))


@pytest.mark.parametrize("radius", [1.0, 1.0001, 1.2, 50.0])
def test_lyapunov_outside_the_unit_circle_is_an_error(radius):
    A = radius * np.roll(np.eye(4), 1, axis=0)  # eigenvalues: the fourth roots of one, without rounding
    with pytest.raises(ConvergenceError, match="spectral radius of A is not below 1"):
        solve_lyapunov(A, np.eye(4))


@pytest.mark.parametrize("radius", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("seed", range(3))
def test_riccati_is_scipys(seed, radius):
    rng = np.random.default_rng(seed)
    A, Q, D = random_stable(rng, 5, radius=radius), random_spd(rng, 5), random_spd(rng, 8)
    C = rng.standard_normal((8, 5))
    X = solve_riccati(A, C.T @ np.linalg.solve(D, C), Q)
    expected = sl.solve_discrete_are(A.T, C.T, Q, D)
    np.testing.assert_allclose(X, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(X, X.T, atol=1e-13 * np.linalg.norm(X))


def test_riccati_with_a_singular_gram_matrix_and_singular_innovation():
    rng = np.random.default_rng(1)
    A = random_stable(rng, 4, radius=0.9)
    c, q = rng.standard_normal((4, 1)), rng.standard_normal((4, 2))
    R, Q = c @ c.T, q @ q.T
    X = solve_riccati(A, R, Q)
    residual = A @ np.linalg.solve(np.eye(4) + X @ R, X) @ A.T + Q - X  # (X⁻¹ + R)⁻¹ without X⁻¹
    assert np.linalg.norm(residual) <= 1e-12 * np.linalg.norm(X)


def test_riccati_without_observations_is_lyapunov():
    rng = np.random.default_rng(2)
    A, Q = random_stable(rng, 4), random_spd(rng, 4)
    np.testing.assert_allclose(solve_riccati(A, np.zeros((4, 4)), Q), solve_lyapunov(A, Q), rtol=1e-12)


def test_riccati_stabilises_what_observations_can_hold():
    A, C = np.array([[1.3]]), np.array([[0.5]])
    expected = sl.solve_discrete_are(A.T, C.T, np.eye(1), np.eye(1))
    np.testing.assert_allclose(solve_riccati(A, C.T @ C, np.eye(1)), expected, rtol=1e-12)


@pytest.mark.parametrize("A", [np.array([[1.5]]), np.array([[np.nan]])])
def test_riccati_that_diverges_is_an_error(A):
    with pytest.raises(ConvergenceError, match="Riccati"):
        solve_riccati(A, np.zeros((1, 1)), np.eye(1))


def kronecker_solution(F, E, U, S):
    """Solve the h² x h² linear system."""
    h = len(F)
    system = np.eye(h * h) - np.kron(F, F) - np.kron(E, U) - np.kron(U, E)  # vec of rows: (A ⊗ B) vec X = A X Bᵀ
    return np.linalg.solve(system, S.ravel()).reshape(h, h)


def generalised_case(seed, strength):
    rng = np.random.default_rng(seed)
    F = random_stable(rng, 5, radius=0.7)
    E, U = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
    scale = np.sqrt(strength / (np.linalg.norm(E, 2) * np.linalg.norm(U, 2)))
    return F, scale * E, scale * U, random_spd(rng, 5)


@pytest.mark.parametrize("strength", [0.0, 1e-6, 0.02, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_generalised_lyapunov_is_the_kronecker_system(seed, strength):
    case = generalised_case(seed, strength)
    X = solve_generalised_lyapunov(*case)
    expected = kronecker_solution(*case)
    assert np.linalg.norm(X - expected) <= 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize("strength", [4.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_generalised_lyapunov_where_a_fixed_point_would_not_contract(seed, strength):
    F, E, U, _ = case = generalised_case(seed, strength)
    inverse = np.linalg.inv(np.eye(25) - np.kron(F, F))
    assert np.max(np.abs(np.linalg.eigvals(inverse @ (np.kron(E, U) + np.kron(U, E))))) > 1
    X = solve_generalised_lyapunov(*case)
    expected = kronecker_solution(*case)
    assert np.linalg.norm(X - expected) <= 1e-7 * np.linalg.norm(expected)


@pytest.mark.parametrize("radius", [1.0, 1.5])
def test_generalised_lyapunov_of_a_filter_that_does_not_forget_is_an_error(radius):
    F, small = radius * np.eye(2), 0.01 * np.eye(2)
    with pytest.raises(ConvergenceError, match="spectral radius"):
        solve_generalised_lyapunov(F, small, small, np.eye(2))


def test_generalised_lyapunov_without_a_solution_is_an_error():
    # X = F X Fᵀ + 2 E X U with F² + 2 E U = 1: no X solves it
    F, E, U = np.array([[0.5]]), np.array([[0.75]]), np.array([[0.5]])
    with pytest.raises(ConvergenceError, match="pseudocount"):
        solve_generalised_lyapunov(F, E, U, np.eye(1))
