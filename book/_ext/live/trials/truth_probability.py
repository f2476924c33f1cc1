budgets = np.array([0.1, 0.5, 1.0, 2.5, 5.0])
judge(EXERCISE, UNSEEN, list(zip(SENTENCES, [
    lambda f: numbers_between(f(budgets), 5, 0.5, 1),
    lambda f: abs(f(0.0) - 0.5) < 1e-5,
    lambda f: rising(f(np.array([0.0, 0.2, 1.0, 3.0, 5.0]))),
])), truth_probability)
