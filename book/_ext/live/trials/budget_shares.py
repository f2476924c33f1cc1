budgets = np.array([0.5, 0.2, 0.1, 0.2, 1.0])

def sums_to_one(f):
    found = f(budgets)
    return (numbers_between(found, 5, 1e-300, 1e300)
            and abs(sum(found) - 1) < 1e-5)

judge(EXERCISE, UNSEEN, list(zip(SENTENCES, [
    sums_to_one,
    lambda f: rising(f(np.array([0.2, 0.4, 0.6, 0.8, 1.0]))),
])), budget_shares)
