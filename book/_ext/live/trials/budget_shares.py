rng = np.random.default_rng(7)
budgets = 0.01 + 0.99 * rng.random(12)

def sums_to_one(f):
    found = f(budgets)
    return (numbers_between(found, 12, 1e-300, 1e300)
            and abs(sum(found) - 1) < 1e-5)

judge(EXERCISE, UNSEEN, list(zip(SENTENCES, [
    sums_to_one,
    lambda f: rising(f(0.2 + 0.8 * np.arange(12) / 11)),
])), budget_shares)
