rng = np.random.default_rng(2)
weights, rate = [3, 1, 1, 1, 4], 0.05
no = noisy_total([4, 2, 0, 3, 0], weights, rate, 4000, rng)
yes = noisy_total([4, 2, 0, 3, 5], weights, rate, 4000, rng)
print(f"mean {no.mean():.3g} where Zoe never swims, and",
      f"{yes.mean():.3g} where she swims 5 hours")
verdict("privacy loss of Zoe", *measured(no, yes), 1)
