rng = np.random.default_rng(2)
mu = np.array([1.0, 0.5])  # the budgets of Zoe and Ana
sigma, rounds = 2.0, 8     # she adds 1 to each total

def means(hours):
    runs = [filtered_sums(lambda z, past: z,
                          np.array([hours, 0.2]), mu, sigma,
                          rounds, rng) for _ in range(400)]
    early = np.array([run[:4].sum() / 2 for run in runs])
    late = np.array([run.sum() / 8**0.5 for run in runs])
    return early, late

gaps = []
for one, other in zip(means(0.0), means(1.0)):
    noise = np.sqrt(((one - one.mean())**2).mean())
    gaps.append((other.mean() - one.mean()) / noise)
verdict("mu of Zoe", max(gaps), (2 / 400)**0.5, 1)
