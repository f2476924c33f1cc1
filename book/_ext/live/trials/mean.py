rng = np.random.default_rng(2)
sizes = np.array([1, 2, 3, 6, 40])
owner = np.repeat(np.arange(5), sizes)
budget = 1.0  # of each

def outputs(hours):  # of Zoe, in all of her 40 weeks
    y = np.where(owner == 4, hours, 3)
    return [private_mean(y, owner, 7, budget, 4.0, rng)
            for _ in range(1000)]

verdict("privacy loss of Zoe",
        *measured(outputs(0), outputs(7)), budget)
