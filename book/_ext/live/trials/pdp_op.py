rng = np.random.default_rng(2)
epsilon = np.array([0.5, 0.2, 0.1, 0.2, 1.0])
lam = 100.0  # where the constant is nearly attained
others, labels = [[0], [0], [0], [0]], [0, 0, 0, 0]

def outputs(x, y):  # of Zoe, whose budget is 1
    X = np.array(others + [[x]]) * 1.0
    label = np.array(labels + [y]) * 1.0
    return [pdp_op(X, label, lam, epsilon, rng)[0]
            for _ in range(1000)]

verdict("privacy loss of Zoe",
        *measured(outputs(1, -1), outputs(1, 1)), 1)
