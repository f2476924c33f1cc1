rng = np.random.default_rng(2)
club = np.repeat([0.5, 0.2, 0.1, 0.2, 1], 200)
truth = rng.binomial(1, 0.3, 1000)
reports = personal_coin(truth, club, rng)
share, error = survey_share(reports, club)
print(f"truth {truth.mean():.3f}, estimate {share:.3f},",
      f"standard error up to {error:.3f}")

# Zoe, asked 4,000 times whose truth is no, and yes
zoe = np.repeat(1.0, 4000)
no = personal_coin(np.repeat(0, 4000), zoe, rng)
yes = personal_coin(np.repeat(1, 4000), zoe, rng)
verdict("privacy loss of Zoe", *measured(no, yes), 1)
