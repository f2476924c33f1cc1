(* lem-wa-optimum: the best weights of a mean of people with several records.

   In words. Let A = sigma^2 / kappa, and n_h the sum of min(s_l, h) over all people.
   1. h = A sum_l (1 - h/s_l)_+ has exactly one solution, between 0 and the largest size.
   2. The variance sigma^2 sum c_i^2 + kappa t^2 is smallest for the weights min(s_l, h)/n_h of the
      people. These are the only best ones, and the variance is then sigma^2 / n_h.
   3. With the sizes in falling order, h is the largest of A k / (1 + A sum_(j <= k) 1/r_j).

   The box and this file:
   - m people, person l with s_l >= 1 records  s : nat -> nat; record r of person l is (l, r)
   - weights c_i >= 0 with sum 1               is_record_weighting; c l r is the weight of record (l, r)
   - weight of a person, the largest, t        person_weight, largest
   - the variance (lem-wa-variance)            variance, by definition
   - sigma > 0, kappa                          positive numbers; A is their quotient, ratio
   - the equation for h                        is_level
   - n_h                                       users_at h
   - the claimed weights                       best_weight: those of a person, split evenly
   - sizes in falling order, r_j               level_is_largest: s itself is in falling order *)

From Book Require Import Vectors.

(* --- definitions ------------------------------------------------------------------------------ *)

Definition positive_part (x : R) : R := Rmax 0 x.

(* The largest of 0 and w 0, ..., w (m - 1). *)
Fixpoint largest (m : nat) (w : nat -> R) : R :=
  match m with
  | O => 0
  | S k => Rmax (largest k w) (w k)
  end.

Definition person_weight (s : nat -> nat) (c : nat -> nat -> R) (l : nat) : R := sum (s l) (c l).

Definition is_record_weighting (m : nat) (s : nat -> nat) (c : nat -> nat -> R) : Prop :=
  (forall l r, (l < m)%nat -> (r < s l)%nat -> 0 <= c l r) /\ sum m (person_weight s c) = 1.

Definition variance (m : nat) (s : nat -> nat) (sigma kappa : R) (c : nat -> nat -> R) : R :=
  sigma^2 * sum m (fun l => sum (s l) (fun r => (c l r)^2))
  + kappa * (largest m (person_weight s c))^2.

Definition ratio (sigma kappa : R) : R := sigma^2 / kappa.

Definition is_level (m : nat) (s : nat -> nat) (A h : R) : Prop :=
  h = A * sum m (fun l => positive_part (1 - h / INR (s l))).

Definition users_at (m : nat) (s : nat -> nat) (h : R) : R := sum m (fun l => Rmin (INR (s l)) h).

Definition best_person_weight (m : nat) (s : nat -> nat) (h : R) (l : nat) : R :=
  Rmin (INR (s l)) h / users_at m s h.

Definition best_weight (m : nat) (s : nat -> nat) (h : R) (l r : nat) : R :=
  best_person_weight m s h l / INR (s l).

(* What the k people with the most records say of the level. *)
Definition level_of_first (s : nat -> nat) (A : R) (k : nat) : R :=
  A * INR k / (1 + A * sum k (fun j => 1 / INR (s j))).

(* --- part 1 ----------------------------------------------------------------------------------- *)

Lemma positive_part_nonneg x : 0 <= positive_part x.
Proof. apply Rmax_l. Qed.

Lemma positive_part_above x : x <= positive_part x.
Proof. apply Rmax_r. Qed.

Lemma positive_part_monotone x y : x <= y -> positive_part x <= positive_part y.
Proof. intros H. apply Rmax_lub; [apply Rmax_l | eapply Rle_trans; [apply H | apply Rmax_r]]. Qed.

Lemma positive_part_continuous : continuity positive_part.
Proof.
  intros x. apply continuity_pt_locally_ext with (f := fun x => / 2 * (x + Rabs x)) (a := 1).
  - lra.
  - intros y _. unfold positive_part, Rmax, Rabs. destruct (Rle_dec 0 y), (Rcase_abs y); lra.
  - apply continuity_pt_scal, continuity_pt_plus; [apply derivable_continuous_pt, derivable_pt_id |].
    apply Rcontinuity_abs.
Qed.

Lemma sum_continuous m (f : nat -> R -> R) :
  (forall l, (l < m)%nat -> continuity (f l)) -> continuity (fun h => sum m (fun l => f l h)).
Proof.
  induction m; intros H; simpl.
  - apply continuity_const; intros x y; auto.
  - apply (continuity_plus (fun h => sum m (fun l => f l h)) (f m)); auto.
Qed.

Lemma size_pos (s : nat -> nat) l : (0 < s l)%nat -> 0 < INR (s l).
Proof. apply lt_0_INR. Qed.

Lemma largest_bounds m w l : (l < m)%nat -> w l <= largest m w.
Proof.
  induction m; intros H; [lia |]. simpl.
  destruct (Nat.eq_dec l m) as [-> | ne]; [apply Rmax_r |].
  eapply Rle_trans; [apply IHm; lia | apply Rmax_l].
Qed.

Lemma largest_nonneg m w : 0 <= largest m w.
Proof. induction m; simpl; [lra |]. eapply Rle_trans; [apply IHm | apply Rmax_l]. Qed.

Lemma largest_least m w b : 0 <= b -> (forall l, (l < m)%nat -> w l <= b) -> largest m w <= b.
Proof. induction m; intros B H; simpl; auto. apply Rmax_lub; auto. Qed.

Theorem level_between m s A h :
  0 < A -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) -> is_level m s A h ->
  0 < h < largest m (fun l => INR (s l)).
Proof.
  intros Ap Hm Hs E.
  assert (P : 0 <= sum m (fun l => positive_part (1 - h / INR (s l))))
    by (apply sum_nonneg; intros; apply positive_part_nonneg).
  assert (h0 : 0 <= h) by (rewrite E; apply Rmult_le_pos; lra).
  assert (hp : 0 < h).
  { destruct h0 as [| Z]; auto. exfalso. subst h.
    assert (0 < sum m (fun l => positive_part (1 - 0 / INR (s l)))).
    { apply sum_pos; auto. intros l Hl. eapply Rlt_le_trans; [| apply positive_part_above].
      unfold Rdiv; lra. }
    unfold is_level in E. nra. }
  split; auto. apply Rnot_le_lt; intros big.
  assert (Z : sum m (fun l => positive_part (1 - h / INR (s l))) = 0).
  { apply sum_zero; intros l Hl. apply Rmax_left.
    assert (S := size_pos s l (Hs l Hl)).
    assert (B := largest_bounds m (fun l => INR (s l)) l Hl). cbv beta in B.
    apply Rmult_le_reg_r with (INR (s l)); auto. field_simplify; lra. }
  unfold is_level in E. rewrite Z in E. lra.
Qed.

Theorem level_exists m s A :
  0 < A -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) -> exists h, is_level m s A h.
Proof.
  intros Ap Hm Hs. set (top := largest m (fun l => INR (s l))).
  assert (T : 0 < top).
  { eapply Rlt_le_trans; [apply (size_pos s 0), Hs, Hm |]. apply (largest_bounds m (fun l => INR (s l)) 0 Hm). }
  destruct (IVT_cor (fun h => h - A * sum m (fun l => positive_part (1 - h / INR (s l)))) 0 (A * INR m))
    as (h & _ & E).
  - apply (continuity_minus (fun h => h)); [apply derivable_continuous, derivable_id |].
    apply (continuity_scal (fun h => sum m (fun l => positive_part (1 - h / INR (s l))))).
    apply (sum_continuous m (fun l h => positive_part (1 - h / INR (s l)))). intros l Hl.
    apply (continuity_comp (fun h => 1 - h / INR (s l)) positive_part); [| apply positive_part_continuous].
    unfold Rdiv. reg.
  - apply Rmult_le_pos; [lra | apply pos_INR].
  - assert (U : sum m (fun l => positive_part (1 - A * INR m / INR (s l))) <= INR m).
    { apply Rle_trans with (sum m (fun _ => 1)); [| rewrite sum_const; lra]. apply sum_le; intros l Hl.
      apply Rmax_lub; [lra |]. assert (0 <= A * INR m / INR (s l)); [| lra].
      apply Rmult_le_pos; [apply Rmult_le_pos; [lra | apply pos_INR] |].
      apply Rlt_le, Rinv_0_lt_compat, size_pos; auto. }
    assert (V : 0 <= sum m (fun l => positive_part (1 - 0 / INR (s l))))
      by (apply sum_nonneg; intros; apply positive_part_nonneg).
    assert (0 <= A * sum m (fun l => positive_part (1 - 0 / INR (s l)))) by (apply Rmult_le_pos; lra).
    assert (A * sum m (fun l => positive_part (1 - A * INR m / INR (s l))) <= A * INR m)
      by (apply Rmult_le_compat_l; lra).
    nra.
  - exists h. unfold is_level. lra.
Qed.

Theorem level_unique m s A h h' :
  0 < A -> (forall l, (l < m)%nat -> (0 < s l)%nat) -> is_level m s A h -> is_level m s A h' ->
  h = h'.
Proof.
  intros Ap Hs.
  assert (order : forall a b, is_level m s A a -> is_level m s A b -> a <= b).
  { intros a b E F. apply Rnot_lt_le; intros lt.
    assert (sum m (fun l => positive_part (1 - a / INR (s l))) <=
            sum m (fun l => positive_part (1 - b / INR (s l)))).
    { apply sum_le; intros l Hl. apply positive_part_monotone.
      assert (S := Rinv_0_lt_compat _ (size_pos s l (Hs l Hl))). unfold Rdiv. nra. }
    unfold is_level in *. nra. }
  intros E F. apply Rle_antisym; auto.
Qed.

(* --- part 2 ----------------------------------------------------------------------------------- *)

(* Squares lie above their tangents at g: what is between is a sum of squares. *)
Lemma squares_of_person n (c : nat -> R) g :
  sum n (fun r => (c r)^2) = sum n (fun r => (c r - g)^2) + 2 * g * sum n c - INR n * g^2.
Proof.
  rewrite (sum_ext n (fun r => (c r)^2) (fun r => (c r - g)^2 + (2 * g * c r - g^2))) by (intros; ring).
  rewrite sum_plus, sum_minus, sum_scale, sum_const. ring.
Qed.

Lemma level_parts m s A h l :
  0 < A -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) -> is_level m s A h ->
  (l < m)%nat ->
  Rmin (INR (s l)) h = INR (s l) * (1 - positive_part (1 - h / INR (s l))) /\
  Rmin (INR (s l)) h * positive_part (1 - h / INR (s l)) = h * positive_part (1 - h / INR (s l)).
Proof.
  intros Ap Hm Hs E Hl. assert (S := size_pos s l (Hs l Hl)).
  assert (Q : h / INR (s l) * INR (s l) = h) by (field; lra).
  unfold positive_part. destruct (Rle_dec (INR (s l)) h) as [le | gt].
  - rewrite Rmin_left, Rmax_left; auto; [lra |].
    apply Rmult_le_reg_r with (INR (s l)); auto. lra.
  - rewrite Rmin_right, Rmax_right; [lra | | lra].
    apply Rmult_le_reg_r with (INR (s l)); auto. lra.
Qed.

Lemma users_at_pos m s h :
  0 < h -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) -> 0 < users_at m s h.
Proof. intros. apply sum_pos; auto. intros. apply Rmin_glb_lt; auto. apply size_pos; auto. Qed.

(* The variance of all weights, over kappa: that of the claimed ones, and squares. *)
Lemma variance_above m s A h c :
  0 < A -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) -> is_level m s A h ->
  is_record_weighting m s c ->
  A / users_at m s h + A * sum m (fun l => sum (s l) (fun r =>
    (c l r - best_weight m s h l r)^2)) <=
  A * sum m (fun l => sum (s l) (fun r => (c l r)^2)) + (largest m (person_weight s c))^2.
Proof.
  intros Ap Hm Hs E [_ W]. destruct (level_between m s A h Ap Hm Hs E) as [hp _].
  assert (Np := users_at_pos m s h hp Hm Hs).
  set (N := users_at m s h) in *. set (t := largest m (person_weight s c)).
  set (mu := fun l => positive_part (1 - h / INR (s l))).
  set (w := person_weight s c) in *.
  assert (G : forall l r, (l < m)%nat -> best_weight m s h l r = (1 - mu l) / N).
  { intros l r Hl. assert (S := size_pos s l (Hs l Hl)).
    destruct (level_parts m s A h l Ap Hm Hs E Hl) as [Q _].
    unfold best_weight, best_person_weight. fold N. rewrite Q. fold (mu l). field; lra. }
  (* all records, by their tangents *)
  assert (T : sum m (fun l => sum (s l) (fun r => (c l r)^2)) =
    sum m (fun l => sum (s l) (fun r => (c l r - best_weight m s h l r)^2))
    + 2 / N * (sum m w - sum m (fun l => mu l * w l))
    - / N^2 * sum m (fun l => INR (s l) * (1 - mu l)^2)).
  { rewrite <- sum_minus, <- !sum_scale, <- sum_plus, <- sum_minus. apply sum_ext; intros l Hl.
    rewrite (squares_of_person (s l) (c l) ((1 - mu l) / N)).
    rewrite (sum_ext (s l) (fun r => (c l r - best_weight m s h l r)^2) (fun r => (c l r - (1 - mu l) / N)^2))
      by (intros; rewrite G; auto).
    unfold w, person_weight. field; lra. }
  (* what the level says *)
  assert (M : A * sum m mu = h) by (symmetry; exact E).
  assert (U : A * sum m (fun l => INR (s l) * (1 - mu l)^2) = A * N - h * h).
  { transitivity (A * (N - h * sum m mu)); [| rewrite <- M at 2; ring].
    f_equal. unfold N, users_at. rewrite <- sum_scale, <- sum_minus. apply sum_ext; intros l Hl.
    destruct (level_parts m s A h l Ap Hm Hs E Hl) as [Q1 Q2]. fold (mu l) in Q1, Q2.
    rewrite <- Q2, Q1. ring. }
  assert (D : A * sum m (fun l => mu l * w l) <= t * h).
  { rewrite <- M, <- Rmult_assoc, (Rmult_comm t A), Rmult_assoc.
    apply Rmult_le_compat_l; [lra |]. rewrite <- sum_scale. apply sum_le; intros l Hl.
    assert (B := largest_bounds m w l Hl). assert (P := positive_part_nonneg (1 - h / INR (s l))).
    fold (mu l) in P. unfold t. fold w. nra. }
  rewrite T, W. set (X := sum m (fun l => sum (s l) _)). set (Y := sum m (fun l => mu l * w l)) in *.
  set (Z := sum m (fun l => INR (s l) * (1 - mu l)^2)) in *.
  replace (A * (X + 2 / N * (1 - Y) - / N^2 * Z)) with
    (A * X + 2 / N * (A - A * Y) - / N^2 * (A * Z)) by ring.
  rewrite U.
  replace (A * X + 2 / N * (A - A * Y) - / N^2 * (A * N - h * h) + t^2) with
    (A / N + A * X + (t - h / N)^2 + 2 * / N * (t * h - A * Y)) by (field; lra).
  assert (0 <= 2 * / N * (t * h - A * Y)).
  { apply Rmult_le_pos; [| lra]. assert (0 < / N) by (apply Rinv_0_lt_compat; auto). lra. }
  assert (0 <= (t - h / N)^2) by apply pow2_ge_0. lra.
Qed.

Lemma best_weight_is_weighting m s h :
  0 < h -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) ->
  is_record_weighting m s (best_weight m s h) /\
  forall l, (l < m)%nat -> person_weight s (best_weight m s h) l = best_person_weight m s h l.
Proof.
  intros hp Hm Hs. assert (Np := users_at_pos m s h hp Hm Hs).
  assert (Pw : forall l, (l < m)%nat -> person_weight s (best_weight m s h) l = best_person_weight m s h l).
  { intros l Hl. assert (S := size_pos s l (Hs l Hl)). unfold person_weight, best_weight.
    rewrite sum_const. field; lra. }
  split; auto. split.
  - intros l r Hl _. assert (S := size_pos s l (Hs l Hl)). unfold best_weight, best_person_weight.
    repeat apply Rmult_le_pos; try (apply Rlt_le, Rinv_0_lt_compat; auto; fail).
    apply Rmin_glb; lra.
  - rewrite (sum_ext m _ _ Pw). unfold best_person_weight.
    rewrite (sum_ext m _ (fun l => / users_at m s h * Rmin (INR (s l)) h)) by (intros; unfold Rdiv; ring).
    rewrite sum_scale. fold (users_at m s h). field; lra.
Qed.

Lemma variance_over_kappa m s sigma kappa c :
  0 < kappa -> variance m s sigma kappa c =
  kappa * (ratio sigma kappa * sum m (fun l => sum (s l) (fun r => (c l r)^2))
    + (largest m (person_weight s c))^2).
Proof. intros K. unfold variance, ratio. field; lra. Qed.

Theorem best_variance m s sigma kappa h :
  0 < sigma -> 0 < kappa -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) ->
  is_level m s (ratio sigma kappa) h ->
  variance m s sigma kappa (best_weight m s h) = sigma^2 / users_at m s h.
Proof.
  intros Sp Kp Hm Hs E.
  assert (Ap : 0 < ratio sigma kappa) by (apply Rdiv_lt_0_compat; nra).
  destruct (level_between m s _ h Ap Hm Hs E) as [hp _].
  assert (Np := users_at_pos m s h hp Hm Hs).
  destruct (best_weight_is_weighting m s h hp Hm Hs) as [V Pw].
  assert (L := variance_above m s _ h _ Ap Hm Hs E V).
  rewrite variance_over_kappa by auto.
  replace (sigma^2 / users_at m s h) with (kappa * (ratio sigma kappa / users_at m s h))
    by (unfold ratio; field; lra).
  f_equal. apply Rle_antisym.
  - clear L. set (A := ratio sigma kappa) in *. set (N := users_at m s h) in *.
    set (mu := fun l => positive_part (1 - h / INR (s l))).
    assert (T : largest m (person_weight s (best_weight m s h)) <= h / N).
    { apply largest_least; [apply Rlt_le, Rdiv_lt_0_compat; auto |]. intros l Hl. rewrite Pw by auto.
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto | apply Rmin_r]. }
    assert (T0 := largest_nonneg m (person_weight s (best_weight m s h))).
    assert (S : A * sum m (fun l => sum (s l) (fun r => (best_weight m s h l r)^2)) = A / N - h * h / N^2).
    { rewrite (sum_ext m _ (fun l => / N^2 * (Rmin (INR (s l)) h - h * mu l))).
      - rewrite sum_scale, sum_minus, sum_scale. fold (users_at m s h). fold N.
        assert (M : A * sum m mu = h) by (symmetry; exact E).
        transitivity (/ N^2 * (A * N - h * (A * sum m mu))); [ring | rewrite M; field; lra].
      - intros l Hl. assert (S := size_pos s l (Hs l Hl)).
        destruct (level_parts m s A h l Ap Hm Hs E Hl) as [Q1 Q2]. fold (mu l) in Q1, Q2.
        unfold best_weight, best_person_weight. rewrite sum_const. fold N.
        rewrite <- Q2, Q1. field; lra. }
    rewrite S. set (t := largest m _) in *.
    assert (t^2 <= (h / N)^2) by nra. replace (h * h / N^2) with ((h / N)^2) by (field; lra). lra.
  - assert (0 <= sum m (fun l => sum (s l) (fun r => (best_weight m s h l r - best_weight m s h l r)^2))).
    { apply sum_nonneg; intros; apply sum_nonneg; intros; apply pow2_ge_0. }
    nra.
Qed.

Theorem best_weights m s sigma kappa h c :
  0 < sigma -> 0 < kappa -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) ->
  is_level m s (ratio sigma kappa) h -> is_record_weighting m s c ->
  variance m s sigma kappa (best_weight m s h) <= variance m s sigma kappa c.
Proof.
  intros Sp Kp Hm Hs E V.
  assert (Ap : 0 < ratio sigma kappa) by (apply Rdiv_lt_0_compat; nra).
  rewrite best_variance, variance_over_kappa by auto.
  assert (L := variance_above m s _ h c Ap Hm Hs E V).
  destruct (level_between m s _ h Ap Hm Hs E) as [hp _]. assert (Np := users_at_pos m s h hp Hm Hs).
  replace (sigma^2 / users_at m s h) with (kappa * (ratio sigma kappa / users_at m s h))
    by (unfold ratio; field; lra).
  apply Rmult_le_compat_l; [lra |].
  assert (0 <= sum m (fun l => sum (s l) (fun r => (c l r - best_weight m s h l r)^2))).
  { apply sum_nonneg; intros; apply sum_nonneg; intros; apply pow2_ge_0. }
  nra.
Qed.

(* Weights that are as good are the claimed ones, record by record. *)
Theorem best_weights_unique m s sigma kappa h c :
  0 < sigma -> 0 < kappa -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) ->
  is_level m s (ratio sigma kappa) h -> is_record_weighting m s c ->
  variance m s sigma kappa c <= variance m s sigma kappa (best_weight m s h) ->
  forall l r, (l < m)%nat -> (r < s l)%nat -> c l r = best_weight m s h l r.
Proof.
  intros Sp Kp Hm Hs E V H l r Hl Hr.
  assert (Ap : 0 < ratio sigma kappa) by (apply Rdiv_lt_0_compat; nra).
  destruct (level_between m s _ h Ap Hm Hs E) as [hp _]. assert (Np := users_at_pos m s h hp Hm Hs).
  rewrite best_variance, variance_over_kappa in H by auto.
  replace (sigma^2 / users_at m s h) with (kappa * (ratio sigma kappa / users_at m s h)) in H
    by (unfold ratio; field; lra).
  apply Rmult_le_reg_l in H; auto.
  assert (L := variance_above m s _ h c Ap Hm Hs E V).
  set (squares := fun l => sum (s l) (fun r => (c l r - best_weight m s h l r)^2)) in *.
  assert (P : forall l, (l < m)%nat -> 0 <= squares l).
  { intros; apply sum_nonneg; intros; apply pow2_ge_0. }
  assert (Q := sum_nonneg m squares P).
  assert (Z : sum m squares = 0) by nra.
  assert (Zl := sum_zero_inv m squares P Z l Hl).
  assert (Zr := sum_zero_inv (s l) (fun r => (c l r - best_weight m s h l r)^2)
    ltac:(intros; apply pow2_ge_0) Zl r Hr). cbv beta in Zr. nra.
Qed.

(* --- part 3 ----------------------------------------------------------------------------------- *)

Lemma first_larger m (s : nat -> nat) h :
  (forall i j, (i <= j)%nat -> (j < m)%nat -> (s j <= s i)%nat) ->
  exists k, (k <= m)%nat /\ (forall j, (j < k)%nat -> h < INR (s j)) /\
    forall j, (k <= j)%nat -> (j < m)%nat -> INR (s j) <= h.
Proof.
  induction m as [| m IH]; intros So.
  - exists 0%nat. repeat split; intros; lia.
  - destruct IH as (k & Hk & A & B); [intros; apply So; lia |].
    destruct (Rlt_le_dec h (INR (s m))) as [lt | le].
    + exists (S m). repeat split; intros; try lia.
      eapply Rlt_le_trans; [apply lt | apply le_INR, So; lia].
    + exists k. repeat split; auto. intros j H1 H2.
      destruct (Nat.eq_dec j m) as [-> | ne]; [auto | apply B; lia].
Qed.

Theorem level_is_largest m s A h :
  0 < A -> (0 < m)%nat -> (forall l, (l < m)%nat -> (0 < s l)%nat) ->
  (forall i j, (i <= j)%nat -> (j < m)%nat -> (s j <= s i)%nat) -> is_level m s A h ->
  (forall k, (1 <= k <= m)%nat -> level_of_first s A k <= h) /\
  exists k, (1 <= k <= m)%nat /\ level_of_first s A k = h.
Proof.
  intros Ap Hm Hs So E. destruct (level_between m s A h Ap Hm Hs E) as [hp top].
  assert (D : forall k, (k <= m)%nat -> 0 < 1 + A * sum k (fun j => 1 / INR (s j))).
  { intros k Hk. assert (0 <= sum k (fun j => 1 / INR (s j))); [| nra].
    apply sum_nonneg; intros j Hj. apply Rlt_le, Rdiv_lt_0_compat; [lra | apply size_pos, Hs; lia]. }
  assert (F : forall k, sum k (fun j => 1 - h / INR (s j)) = INR k - h * sum k (fun j => 1 / INR (s j))).
  { intros k. rewrite sum_minus, sum_const, <- sum_scale. f_equal; [ring |].
    apply sum_ext; intros; unfold Rdiv; ring. }
  split.
  - intros k [_ Hk]. specialize (D k Hk).
    assert (L : A * sum k (fun j => 1 - h / INR (s j)) <= h).
    { apply Rle_trans with (A * sum m (fun l => positive_part (1 - h / INR (s l)))); [| right; symmetry; exact E].
      apply Rmult_le_compat_l; [lra |].
      apply Rle_trans with (sum k (fun l => positive_part (1 - h / INR (s l)))).
      - apply sum_le; intros; apply positive_part_above.
      - apply sum_le_more; auto. intros; apply positive_part_nonneg. }
    rewrite F in L. unfold level_of_first. apply Rmult_le_reg_r with (1 + A * sum k (fun j => 1 / INR (s j))); auto.
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - destruct (first_larger m s h So) as (k & Hk & larger & others).
    assert (L : A * sum k (fun j => 1 - h / INR (s j)) = h).
    { transitivity (A * sum m (fun l => positive_part (1 - h / INR (s l)))); [f_equal | symmetry; exact E].
      transitivity (sum k (fun l => positive_part (1 - h / INR (s l)))).
      - apply sum_ext; intros j Hj. symmetry. apply Rmax_right.
        assert (S := size_pos s j (Hs j ltac:(lia))). specialize (larger j Hj).
        apply Rmult_le_reg_r with (INR (s j)); auto. field_simplify; lra.
      - clear - Hs Hk others. induction m as [| m IH]; [replace k with 0%nat by lia; auto |].
        destruct (Nat.eq_dec k (S m)) as [-> | ne]; auto. simpl.
        rewrite (IH ltac:(intros; apply Hs; lia) ltac:(lia) ltac:(intros; apply others; lia)).
        assert (Z : positive_part (1 - h / INR (s m)) = 0); [| lra].
        apply Rmax_left. assert (S := size_pos s m (Hs m ltac:(lia))).
        specialize (others m ltac:(lia) ltac:(lia)).
        apply Rmult_le_reg_r with (INR (s m)); auto. field_simplify; lra. }
    exists k. split.
    + destruct k; [| lia]. exfalso. simpl in L. lra.
    + specialize (D k Hk). rewrite F in L. unfold level_of_first.
      apply Rmult_eq_reg_r with (1 + A * sum k (fun j => 1 / INR (s j))); [| lra].
      unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
