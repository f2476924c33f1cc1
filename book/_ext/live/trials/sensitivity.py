print(f"C = {45 * farthest_move(1 / 45, 1 / 9, 1):.3g},",
      f"move at most {farthest_move(1 / 45, 1 / 9, 1):.3g}")
rng = np.random.default_rng(2)
worst = 0.0
for lam in (0.1, 1, 10, 100):
    for _ in range(100):
        w, d = 0.02, 3
        row = np.where(rng.random(d) < 0.5, 0.0, 1.0)
        crowd = 1 - row
        fits = []
        for x, y in ((row, -1), (1 - row, 1), (row, 1)):
            A = (w * x[:, None] * x + (1 - w)
                 * crowd[:, None] * crowd + lam * np.eye(d))
            fits.append(np.linalg.solve(
                A, w * y * x + (1 - w) * crowd))
        for fit in fits[1:]:
            move = np.linalg.norm(fits[0] - fit)
            ratio = move / farthest_move(w, lam, d)
            worst = max(worst, ratio)
verdict("largest move / bound, of 800", worst, 0, 1)
