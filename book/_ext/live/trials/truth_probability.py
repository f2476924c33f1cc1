rng = np.random.default_rng(7)
budgets = 0.1 + 4.9 * rng.random(20)
judge(EXERCISE, UNSEEN, list(zip(SENTENCES, [
    lambda f: numbers_between(f(budgets), 20, 0.5, 1),
    lambda f: abs(f(0.0) - 0.5) < 1e-5,
    lambda f: rising(f(np.arange(20) * (5 / 19))),
])), truth_probability)
