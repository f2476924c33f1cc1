(* thm-gwa-dual: dual, certificate and row generation for the best weights of a regression.

   In words. f(C) = sigma^2 |C|_F^2 + 2 d b_C^2 over the matrices with C X = I. For a matrix Lambda and
   nu >= 0 let G(Lambda, nu) be the box's function.
   1. f(C) >= 2 sigma^2 (tr Lambda - G(Lambda, nu)) always. If tr Lambda > 0, then G(Lambda) > 0 and
      f(C) >= sigma^2 (tr Lambda)^2 / (2 G(Lambda)).
   2. If Lambda and nu attain the first bound at C, then every entry of C is (Lambda x_i)_j soft-thresholded
      at nu_l, nu_l = 0 for users below their limit, and f(C) = sigma^2 tr Lambda. Conversely, a matrix of
      this form, with b_C = sigma^2 (sum tau_l nu_l) / (2 d), is optimal.
   3. Solve for some of the rows, and pad with zeros. If |(Lambda x_i)_j| <= nu_l on all rows left out, the
      padded matrix is optimal for all rows.

   The box and this file:
   - users l < m, row r of user l              x l r, a vector; s l is the number of rows of user l
   - the column of C for this row              c l r, a vector
   - C X = I                                   unbiased
   - b_C                                       scale_of c: the largest of load l / tau_l
   - tau_l = eps_l / B                         tau l > 0
   - f, G(Lambda, nu)                          objective, G
   - G(Lambda), the minimum over nu            the greatest lower bound of G(Lambda, nu)
   - f*, the least value of f                  bounds hold for every C with C X = I; optimal
   - the program for some of the rows          only chosen x: the same program, 0 for the rows left out

   Assumed: in part 1 for G > 0, that some C with C X = I exists. Not proven: that multipliers which attain
   the bound exist (part 2), nor that a nu attains G(Lambda). *)

From Book Require Import Vectors WeightedAverage.

(* --- definitions ------------------------------------------------------------------------------ *)

(* The sum over all entries: users l, their rows r, coordinates j. *)
Definition sum_entries (m : nat) (s : nat -> nat) (d : nat) (F : nat -> nat -> nat -> R) : R :=
  sum m (fun l => sum (s l) (fun r => sum d (F l r))).

Definition identity (j k : nat) : R := if Nat.eqb j k then 1 else 0.

Definition trace (d : nat) (Lambda : nat -> vector) : R := sum d (fun j => Lambda j j).

Definition unbiased (m : nat) (s : nat -> nat) (d : nat) (x c : nat -> nat -> vector) : Prop :=
  forall j k, (j < d)%nat -> (k < d)%nat ->
    sum m (fun l => sum (s l) (fun r => c l r j * x l r k)) = identity j k.

Definition load (s : nat -> nat) (d : nat) (c : nat -> nat -> vector) (l : nat) : R :=
  sum (s l) (fun r => sum d (fun j => Rabs (c l r j))).

Definition scale_of (m : nat) (s : nat -> nat) (d : nat) (tau : nat -> R)
    (c : nat -> nat -> vector) : R :=
  largest m (fun l => load s d c l / tau l).

Definition objective (m : nat) (s : nat -> nat) (d : nat) (tau : nat -> R) (sigma : R)
    (c : nat -> nat -> vector) : R :=
  sigma^2 * sum_entries m s d (fun l r j => (c l r j)^2) + 2 * INR d * (scale_of m s d tau c)^2.

Definition G (m : nat) (s : nat -> nat) (d : nat) (tau : nat -> R) (sigma : R)
    (x : nat -> nat -> vector)
    (Lambda : nat -> vector) (nu : nat -> R) : R :=
  sigma^2 / (4 * INR d) * (sum m (fun l => tau l * nu l))^2 +
  / 2 * sum_entries m s d (fun l r j =>
    (positive_part (Rabs (dot d (Lambda j) (x l r)) - nu l))^2).

Definition soft_threshold (nu a : R) : R :=
  (if Rle_dec 0 a then 1 else -1) * positive_part (Rabs a - nu).

Definition optimal (m : nat) (s : nat -> nat) (d : nat) (tau : nat -> R) (sigma : R)
    (x c : nat -> nat -> vector) : Prop :=
  unbiased m s d x c /\
  forall other, unbiased m s d x other ->
    objective m s d tau sigma c <= objective m s d tau sigma other.

(* --- sums over entries ------------------------------------------------------------------------ *)

Lemma entries_ext m s d F H :
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat -> F l r j = H l r j) ->
  sum_entries m s d F = sum_entries m s d H.
Proof. intros E. unfold sum_entries. do 3 (apply sum_ext; intros). auto. Qed.

Lemma entries_plus m s d F H :
  sum_entries m s d (fun l r j => F l r j + H l r j) = sum_entries m s d F + sum_entries m s d H.
Proof.
  unfold sum_entries. rewrite <- sum_plus. apply sum_ext; intros l _.
  rewrite <- sum_plus. apply sum_ext; intros r _. apply sum_plus.
Qed.

Lemma entries_scale m s d a F :
  sum_entries m s d (fun l r j => a * F l r j) = a * sum_entries m s d F.
Proof.
  unfold sum_entries. rewrite <- sum_scale. apply sum_ext; intros l _.
  rewrite <- sum_scale. apply sum_ext; intros r _. apply sum_scale.
Qed.

Lemma entries_nonneg m s d F :
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat -> 0 <= F l r j) ->
  0 <= sum_entries m s d F.
Proof. intros H. do 3 (apply sum_nonneg; intros). auto. Qed.

Lemma entries_zero_inv m s d F :
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat -> 0 <= F l r j) ->
  sum_entries m s d F = 0 ->
  forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat -> F l r j = 0.
Proof.
  intros P E l r j Hl Hr Hj.
  apply (sum_zero_inv d (F l r)); auto.
  apply (sum_zero_inv (s l) (fun r => sum d (F l r))); auto.
  - intros; apply sum_nonneg; auto.
  - apply (sum_zero_inv m (fun l => sum (s l) (fun r => sum d (F l r)))); auto.
    intros; apply sum_nonneg; intros; apply sum_nonneg; auto.
Qed.

(* --- one entry -------------------------------------------------------------------------------- *)

(* How far an entry c is from the best one, where the dual has a and nu. *)
Definition entry_gap (nu a c : R) : R :=
  c^2 - 2 * a * c + 2 * nu * Rabs c + (positive_part (Rabs a - nu))^2.

Lemma entry_gap_parts nu a c :
  entry_gap nu a c = (Rabs c - positive_part (Rabs a - nu))^2
    + 2 * (positive_part (Rabs a - nu) - (Rabs a - nu)) * Rabs c + 2 * (Rabs a * Rabs c - a * c).
Proof.
  unfold entry_gap. assert (E := pow2_abs c).
  rewrite <- E. ring.
Qed.

Lemma entry_gap_nonneg nu a c : 0 <= entry_gap nu a c.
Proof.
  rewrite entry_gap_parts. assert (A := positive_part_above (Rabs a - nu)). assert (B := Rabs_pos c).
  assert (C := Rle_abs (a * c)). rewrite Rabs_mult in C.
  assert (D := pow2_ge_0 (Rabs c - positive_part (Rabs a - nu))). nra.
Qed.

Lemma entry_gap_zero nu a c : 0 <= nu -> entry_gap nu a c = 0 -> c = soft_threshold nu a.
Proof.
  intros N. rewrite entry_gap_parts. intros E.
  assert (A := positive_part_above (Rabs a - nu)). assert (B := Rabs_pos c).
  assert (C := Rle_abs (a * c)). rewrite Rabs_mult in C.
  assert (D := pow2_ge_0 (Rabs c - positive_part (Rabs a - nu))).
  assert (K : 0 <= 2 * (positive_part (Rabs a - nu) - (Rabs a - nu)) * Rabs c) by nra.
  assert (Q : Rabs c = positive_part (Rabs a - nu)) by nra.
  assert (S : Rabs a * Rabs c = a * c) by lra.
  unfold soft_threshold. rewrite <- Q. clear - S Q N.
  destruct (Rle_dec 0 a) as [p | n].
  - destruct (Req_dec a 0) as [-> | ne].
    + rewrite Rabs_R0 in Q. unfold positive_part in Q. rewrite Rmax_left in Q by lra.
      rewrite Q. unfold Rabs in Q; destruct (Rcase_abs c); lra.
    + rewrite (Rabs_pos_eq a) in S by auto. assert (Rabs c = c) by nra. lra.
  - rewrite (Rabs_left a) in S by lra. assert (Rabs c = - c) by nra. lra.
Qed.

Lemma soft_threshold_gap nu a : 0 <= nu -> entry_gap nu a (soft_threshold nu a) = 0.
Proof.
  intros N. unfold entry_gap, soft_threshold. assert (P := positive_part_nonneg (Rabs a - nu)).
  assert (Q : positive_part (Rabs a - nu) * (positive_part (Rabs a - nu) - (Rabs a - nu)) = 0).
  { unfold positive_part. destruct (Rle_dec 0 (Rabs a - nu)); [rewrite Rmax_right | rewrite Rmax_left]; lra. }
  rewrite Rabs_mult, (Rabs_pos_eq (positive_part _)) by auto.
  destruct (Rle_dec 0 a) as [p | n].
  - rewrite Rabs_R1. rewrite (Rabs_pos_eq a) in * by auto. nra.
  - rewrite (Rabs_left (-1)) by lra. rewrite (Rabs_left a) in * by lra. nra.
Qed.

(* --- the gap between objective and bound ------------------------------------------------------ *)

(* The inner product of Lambda with C X, entry by entry of C. *)
Lemma trace_by_entries m s d x c Lambda :
  unbiased m s d x c -> sum_entries m s d (fun l r j => dot d (Lambda j) (x l r) * c l r j) =
    trace d Lambda.
Proof.
  intros U. unfold sum_entries, trace.
  transitivity (sum d (fun j => sum d (fun k => Lambda j k * sum m (fun l => sum (s l) (fun r => c l r j * x l r k))))).
  - transitivity (sum m (fun l => sum d (fun j => sum (s l) (fun r => dot d (Lambda j) (x l r) * c l r j)))).
    { apply sum_ext; intros. apply sum_swap. }
    rewrite sum_swap. apply sum_ext; intros j Hj.
    transitivity (sum d (fun k => sum m (fun l => sum (s l) (fun r => Lambda j k * (c l r j * x l r k))))).
    + rewrite <- sum_swap. apply sum_ext; intros l Hl. rewrite <- sum_swap. apply sum_ext; intros r Hr.
      unfold dot. rewrite Rmult_comm, <- sum_scale. apply sum_ext; intros; ring.
    + apply sum_ext; intros k Hk. rewrite <- sum_scale. apply sum_ext; intros l Hl. apply sum_scale.
  - apply sum_ext; intros j Hj.
    assert (E := sum_change_one d (fun k => Lambda j k * identity j k) (fun _ => 0) j Hj).
    cbv beta in E. rewrite (sum_zero d (fun _ => 0)) in E by auto. rewrite !Rminus_0_r in E.
    rewrite (sum_ext d _ (fun k => Lambda j k * identity j k)) by (intros; rewrite U; auto).
    rewrite E; unfold identity.
    + rewrite Nat.eqb_refl; ring.
    + intros k _ ne. rewrite (proj2 (Nat.eqb_neq j k)) by auto. ring.
Qed.

Lemma gap_parts m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> unbiased m s d x c ->
  objective m s d tau sigma c - 2 * sigma^2 * (trace d Lambda - G m s d tau sigma x Lambda nu) =
  sigma^2 * sum_entries m s d (fun l r j => entry_gap (nu l) (dot d (Lambda j) (x l r)) (c l r j))
  + 2 * INR d * (scale_of m s d tau c - sigma^2 * sum m (fun l => tau l * nu l) / (2 * INR d))^2
  + 2 * sigma^2 * sum m (fun l => nu l * (tau l * scale_of m s d tau c - load s d c l)).
Proof.
  intros Hd U. assert (dp : 0 < INR d) by (apply lt_0_INR; auto).
  rewrite <- (trace_by_entries m s d x c Lambda U). unfold objective, G.
  set (b := scale_of m s d tau c).
  assert (L : sum m (fun l => nu l * (tau l * b - load s d c l)) =
    b * sum m (fun l => tau l * nu l) - sum_entries m s d (fun l r j => nu l * Rabs (c l r j))).
  { unfold sum_entries. rewrite <- sum_scale, <- sum_minus. apply sum_ext; intros l Hl.
    rewrite (sum_ext (s l) _ (fun r => nu l * sum d (fun j => Rabs (c l r j)))) by (intros; apply sum_scale).
    rewrite sum_scale. unfold load. ring. }
  rewrite L.
  rewrite (entries_ext m s d (fun l r j => entry_gap (nu l) (dot d (Lambda j) (x l r)) (c l r j))
    (fun l r j => (c l r j)^2 + -2 * (dot d (Lambda j) (x l r) * c l r j) + 2 * (nu l * Rabs (c l r j))
      + (positive_part (Rabs (dot d (Lambda j) (x l r)) - nu l))^2)) by (intros; unfold entry_gap; ring).
  rewrite !entries_plus, (entries_scale m s d (-2)), (entries_scale m s d 2). field; lra.
Qed.

Lemma load_within m s d tau c l :
  (l < m)%nat -> 0 < tau l -> load s d c l <= tau l * scale_of m s d tau c.
Proof.
  intros Hl T. assert (B := largest_bounds m (fun l => load s d c l / tau l) l Hl). cbv beta in B.
  fold (scale_of m s d tau c) in B. apply Rmult_le_compat_l with (r := tau l) in B; [| lra].
  replace (tau l * (load s d c l / tau l)) with (load s d c l) in B by (field; lra). auto.
Qed.

(* --- part 1 ----------------------------------------------------------------------------------- *)

Theorem dual_bound m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c ->
  2 * sigma^2 * (trace d Lambda - G m s d tau sigma x Lambda nu) <= objective m s d tau sigma c.
Proof.
  intros Hd T N U. assert (E := gap_parts m s d tau sigma x c Lambda nu Hd U).
  assert (dp : 0 < INR d) by (apply lt_0_INR; auto).
  assert (A := entries_nonneg m s d (fun l r j => entry_gap (nu l) (dot d (Lambda j) (x l r)) (c l r j))
    ltac:(intros; apply entry_gap_nonneg)).
  assert (B := pow2_ge_0 (scale_of m s d tau c - sigma^2 * sum m (fun l => tau l * nu l) / (2 * INR d))).
  assert (C : 0 <= sum m (fun l => nu l * (tau l * scale_of m s d tau c - load s d c l))).
  { apply sum_nonneg; intros l Hl. assert (W := load_within m s d tau c l Hl (T l Hl)).
    specialize (N l Hl). nra. }
  assert (S := pow2_ge_0 sigma).
  assert (A' := Rmult_le_pos _ _ S A). assert (C' := Rmult_le_pos _ _ S C).
  assert (B' := Rmult_le_pos _ _ (Rlt_le _ _ dp) B). lra.
Qed.

Lemma G_scales m s d tau sigma x Lambda nu a :
  0 <= a -> G m s d tau sigma x (fun j => scale a (Lambda j)) (fun l => a * nu l) =
    a^2 * G m s d tau sigma x Lambda nu.
Proof.
  intros A. unfold G.
  rewrite (sum_ext m (fun l => tau l * (a * nu l)) (fun l => a * (tau l * nu l))) by (intros; ring).
  rewrite sum_scale.
  rewrite (entries_ext m s d _ (fun l r j => a^2 * (positive_part (Rabs (dot d (Lambda j) (x l r)) - nu l))^2)).
  - rewrite entries_scale. unfold Rdiv. ring.
  - intros. rewrite (dot_sym d (scale a _)), dot_scale, Rabs_mult, (Rabs_pos_eq a), (dot_sym d (x l r)) by auto.
    rewrite <- Rmult_minus_distr_l. unfold positive_part.
    replace (Rmax 0 (a * (Rabs (dot d (Lambda j) (x l r)) - nu l)))
      with (a * Rmax 0 (Rabs (dot d (Lambda j) (x l r)) - nu l)); [ring |].
    rewrite <- RmaxRmult by auto. f_equal; ring.
Qed.

Lemma trace_scales d Lambda a : trace d (fun j => scale a (Lambda j)) = a * trace d Lambda.
Proof. unfold trace, scale. apply sum_scale. Qed.

Lemma scaled_bound m s d tau sigma x c Lambda nu a :
  (0 < d)%nat -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c -> 0 <= a ->
  2 * sigma^2 * (a * trace d Lambda - a^2 * G m s d tau sigma x Lambda nu) <=
    objective m s d tau sigma c.
Proof.
  intros Hd T N U A. rewrite <- G_scales, <- trace_scales by auto. apply dual_bound; auto.
  intros l Hl. specialize (N l Hl). nra.
Qed.

Theorem dual_bound_scaled m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> 0 < sigma -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c -> 0 < trace d Lambda ->
  0 < G m s d tau sigma x Lambda nu /\
  sigma^2 * (trace d Lambda)^2 / (2 * G m s d tau sigma x Lambda nu) <=
    objective m s d tau sigma c.
Proof.
  intros Hd Sp T N U Tr. set (g := G m s d tau sigma x Lambda nu). set (f := objective m s d tau sigma c).
  assert (B : forall a, 0 <= a -> 2 * sigma^2 * (a * trace d Lambda - a^2 * g) <= f)
    by (intros; apply scaled_bound; auto).
  assert (S2 : 0 < sigma^2) by nra.
  assert (K : 0 < sigma^2 * trace d Lambda) by (apply Rmult_lt_0_compat; auto).
  assert (g0 : 0 < g).
  { apply Rnot_le_lt; intros neg.
    assert (F := Rabs_pos f). assert (F' := Rle_abs f).
    set (a := (Rabs f + 1) / (sigma^2 * trace d Lambda)).
    assert (a0 : 0 < a) by (apply Rdiv_lt_0_compat; lra).
    assert (E : a * (sigma^2 * trace d Lambda) = Rabs f + 1) by (unfold a; field; lra).
    specialize (B a ltac:(lra)). assert (0 <= - (sigma^2 * (a^2 * g))).
    { assert (0 <= a^2 * (- g)) by (apply Rmult_le_pos; [apply pow2_ge_0 | lra]). nra. }
    nra. }
  split; auto.
  specialize (B (trace d Lambda / (2 * g)) ltac:(apply Rlt_le, Rdiv_lt_0_compat; lra)).
  replace (sigma^2 * (trace d Lambda)^2 / (2 * g)) with
    (2 * sigma^2 * (trace d Lambda / (2 * g) * trace d Lambda - (trace d Lambda / (2 * g))^2 * g))
    by (field; lra). auto.
Qed.

(* The same for G(Lambda), the greatest lower bound over all nu >= 0. *)
Theorem dual_bound_best m s d tau sigma x c Lambda g :
  (0 < d)%nat -> 0 < sigma -> all_positive m tau -> unbiased m s d x c -> 0 < trace d Lambda ->
  (forall nu, all_nonneg m nu -> g <= G m s d tau sigma x Lambda nu) ->
  (forall b, (forall nu, all_nonneg m nu -> b <= G m s d tau sigma x Lambda nu) -> b <= g) ->
  0 < g /\ sigma^2 * (trace d Lambda)^2 / (2 * g) <= objective m s d tau sigma c.
Proof.
  intros Hd Sp T U Tr low greatest. set (f := objective m s d tau sigma c).
  assert (P : 0 < sigma^2 * (trace d Lambda)^2) by (apply Rmult_lt_0_compat; nra).
  assert (f0 : 0 < f).
  { destruct (dual_bound_scaled m s d tau sigma x c Lambda (fun _ => 0) Hd Sp T ltac:(intros l Hl; lra) U Tr) as [g0 B].
    eapply Rlt_le_trans; [| apply B]. apply Rdiv_lt_0_compat; lra. }
  assert (B : sigma^2 * (trace d Lambda)^2 / (2 * f) <= g).
  { apply greatest. intros nu N.
    destruct (dual_bound_scaled m s d tau sigma x c Lambda nu Hd Sp T N U Tr) as [g0 B]. fold f in B.
    set (h := G m s d tau sigma x Lambda nu) in *.
    apply Rmult_le_reg_r with (2 * f); [lra |].
    apply Rmult_le_compat_r with (r := 2 * h) in B; [| lra].
    replace (sigma^2 * (trace d Lambda)^2 / (2 * h) * (2 * h)) with (sigma^2 * (trace d Lambda)^2) in B by (field; lra).
    replace (sigma^2 * (trace d Lambda)^2 / (2 * f) * (2 * f)) with (sigma^2 * (trace d Lambda)^2) by (field; lra).
    lra. }
  assert (g0 : 0 < g) by (eapply Rlt_le_trans; [| apply B]; apply Rdiv_lt_0_compat; lra).
  split; auto. apply Rmult_le_reg_r with (2 * g); [lra |].
  apply Rmult_le_compat_r with (r := 2 * f) in B; [| lra].
  replace (sigma^2 * (trace d Lambda)^2 / (2 * g) * (2 * g)) with (sigma^2 * (trace d Lambda)^2) by (field; lra).
  replace (sigma^2 * (trace d Lambda)^2 / (2 * f) * (2 * f)) with (sigma^2 * (trace d Lambda)^2) in B by (field; lra).
  lra.
Qed.

(* --- part 2 ----------------------------------------------------------------------------------- *)

(* Lambda and nu attain the first bound at C. *)
Definition attain (m : nat) (s : nat -> nat) (d : nat) (tau : nat -> R) (sigma : R)
    (x c : nat -> nat -> vector) (Lambda : nat -> vector) (nu : nat -> R) : Prop :=
  objective m s d tau sigma c = 2 * sigma^2 * (trace d Lambda - G m s d tau sigma x Lambda nu).

Theorem multipliers_value m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> 0 < sigma -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c -> attain m s d tau sigma x c Lambda nu ->
  objective m s d tau sigma c = sigma^2 * trace d Lambda.
Proof.
  intros Hd Sp T N U At. unfold attain in At. set (f := objective m s d tau sigma c) in *.
  set (g := G m s d tau sigma x Lambda nu) in *. set (t := trace d Lambda) in *.
  assert (S2 : 0 < sigma^2) by nra.
  (* the bound is largest at the multiple 1 *)
  assert (B : forall a, 0 <= a -> a * t - a^2 * g <= t - g).
  { intros a A. apply Rmult_le_reg_l with (2 * sigma^2); [lra |]. rewrite <- At. apply scaled_bound; auto. }
  assert (E : t = 2 * g); [| rewrite At, E; ring].
  assert (B2 : forall h, -1 <= h -> h * (t - 2 * g) <= h^2 * g).
  { intros h Hh. specialize (B (1 + h) ltac:(lra)). lra. }
  assert (K := Rabs_pos g). assert (K' := Rle_abs g).
  assert (small : forall h, 0 < h <= 1 -> Rabs (t - 2 * g) <= h * Rabs g).
  { intros h Hh. assert (P := B2 h ltac:(lra)). assert (Q := B2 (- h) ltac:(lra)).
    assert (h^2 * g <= h * (h * Rabs g)) by nra.
    apply Rabs_le; split; apply Rmult_le_reg_l with h; lra. }
  assert (Z : Rabs (t - 2 * g) <= 0).
  { apply le_epsilon; intros e He.
    assert (q : 0 < e / (Rabs g + 1)) by (apply Rdiv_lt_0_compat; lra).
    set (h := Rmin 1 (e / (Rabs g + 1))).
    assert (h0 : 0 < h) by (apply Rmin_glb_lt; lra).
    assert (h1 : h <= 1) by apply Rmin_l. assert (h2 : h <= e / (Rabs g + 1)) by apply Rmin_r.
    specialize (small h ltac:(lra)).
    assert (h * Rabs g <= e / (Rabs g + 1) * (Rabs g + 1)) by (apply Rmult_le_compat; lra).
    replace (e / (Rabs g + 1) * (Rabs g + 1)) with e in H by (field; lra). lra. }
  assert (Y := Rle_abs (t - 2 * g)). assert (X := Rle_abs (- (t - 2 * g))). rewrite Rabs_Ropp in X. lra.
Qed.

Theorem multipliers_form m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> 0 < sigma -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c -> attain m s d tau sigma x c Lambda nu ->
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat ->
    c l r j = soft_threshold (nu l) (dot d (Lambda j) (x l r))) /\
  (forall l, (l < m)%nat -> load s d c l < tau l * scale_of m s d tau c -> nu l = 0).
Proof.
  intros Hd Sp T N U At. assert (E := gap_parts m s d tau sigma x c Lambda nu Hd U).
  unfold attain in At. rewrite At, Rminus_diag_eq in E by auto.
  assert (dp : 0 < INR d) by (apply lt_0_INR; auto). assert (S2 : 0 < sigma^2) by nra.
  assert (P : forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat ->
    0 <= entry_gap (nu l) (dot d (Lambda j) (x l r)) (c l r j)) by (intros; apply entry_gap_nonneg).
  assert (Q : forall l, (l < m)%nat -> 0 <= nu l * (tau l * scale_of m s d tau c - load s d c l)).
  { intros l Hl. assert (W := load_within m s d tau c l Hl (T l Hl)). specialize (N l Hl). nra. }
  assert (A := entries_nonneg m s d _ P). assert (C := sum_nonneg m _ Q). cbv beta in A, C.
  assert (B := pow2_ge_0 (scale_of m s d tau c - sigma^2 * sum m (fun l => tau l * nu l) / (2 * INR d))).
  assert (B' := Rmult_le_pos _ _ (Rlt_le _ _ dp) B).
  assert (A' := Rmult_le_pos _ _ (Rlt_le _ _ S2) A). assert (C' := Rmult_le_pos _ _ (Rlt_le _ _ S2) C).
  split.
  - intros l r j Hl Hr Hj. apply entry_gap_zero; auto.
    apply (entries_zero_inv m s d (fun l r j => entry_gap (nu l) (dot d (Lambda j) (x l r)) (c l r j))); auto.
    apply Rmult_eq_reg_l with (sigma^2); lra.
  - intros l Hl below. assert (Z := sum_zero_inv m _ Q ltac:(apply Rmult_eq_reg_l with (sigma^2); lra) l Hl).
    cbv beta in Z. apply Rmult_integral in Z. destruct Z; lra.
Qed.

Lemma attain_optimal m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c -> attain m s d tau sigma x c Lambda nu -> optimal m s d tau sigma x c.
Proof. intros Hd T N U At. split; auto. intros other U'. rewrite At. apply dual_bound; auto. Qed.

Theorem certificate m s d tau sigma x c Lambda nu :
  (0 < d)%nat -> 0 < sigma -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d x c ->
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat ->
    c l r j = soft_threshold (nu l) (dot d (Lambda j) (x l r))) ->
  (forall l, (l < m)%nat -> load s d c l < tau l * scale_of m s d tau c -> nu l = 0) ->
  scale_of m s d tau c = sigma^2 * sum m (fun l => tau l * nu l) / (2 * INR d) ->
  optimal m s d tau sigma x c /\ objective m s d tau sigma c = sigma^2 * trace d Lambda.
Proof.
  intros Hd Sp T N U soft slack stationary.
  assert (At : attain m s d tau sigma x c Lambda nu).
  { apply Rminus_diag_uniq. rewrite gap_parts by auto. rewrite <- stationary.
    rewrite (entries_ext m s d _ (fun _ _ _ => 0 * 0)).
    - rewrite (entries_scale m s d 0), (sum_zero m); [ring |]. intros l Hl.
      assert (W := load_within m s d tau c l Hl (T l Hl)).
      destruct W as [W | W]; [rewrite (slack l Hl W); ring | rewrite W; ring].
    - intros l r j Hl Hr Hj. rewrite soft by auto. rewrite soft_threshold_gap by auto. ring. }
  split; [apply attain_optimal with (Lambda := Lambda) (nu := nu); auto |].
  apply multipliers_value with (x := x) (nu := nu); auto.
Qed.

(* --- part 3 ----------------------------------------------------------------------------------- *)

(* The program for the rows that are chosen: the others are 0. *)
Definition only (chosen : nat -> nat -> bool) (x : nat -> nat -> vector) : nat -> nat -> vector :=
  fun l r => if chosen l r then x l r else zero.

(* A matrix that is padded with zeros has C X = I for the chosen rows exactly if it does for all. *)
Theorem padded_feasible m s d x c chosen :
  unbiased m s d (only chosen x) (only chosen c) <-> unbiased m s d x (only chosen c).
Proof.
  assert (E : forall j k, sum m (fun l => sum (s l) (fun r => only chosen c l r j * only chosen x l r k)) =
    sum m (fun l => sum (s l) (fun r => only chosen c l r j * x l r k))).
  { intros. do 2 (apply sum_ext; intros). unfold only, zero. destruct (chosen _ _); ring. }
  unfold unbiased. split; intros H j k Hj Hk; specialize (H j k Hj Hk); rewrite E in *; auto.
Qed.

(* Rows that exceed no threshold add nothing to G. *)
Lemma G_only m s d tau sigma x Lambda nu chosen :
  all_nonneg m nu ->
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat -> chosen l r = false ->
    Rabs (dot d (Lambda j) (x l r)) <= nu l) ->
  G m s d tau sigma (only chosen x) Lambda nu = G m s d tau sigma x Lambda nu.
Proof.
  intros N H. unfold G. do 2 f_equal. apply entries_ext; intros l r j Hl Hr Hj. unfold only.
  destruct (chosen l r) eqn:E; auto. specialize (H l r j Hl Hr Hj E). specialize (N l Hl).
  rewrite dot_zero, Rabs_R0. unfold positive_part. rewrite !Rmax_left by lra. auto.
Qed.

Theorem row_generation m s d tau sigma x c Lambda nu chosen :
  (0 < d)%nat -> all_positive m tau -> all_nonneg m nu ->
  unbiased m s d (only chosen x) (only chosen c) ->
  attain m s d tau sigma (only chosen x) (only chosen c) Lambda nu ->
  (forall l r j, (l < m)%nat -> (r < s l)%nat -> (j < d)%nat -> chosen l r = false ->
    Rabs (dot d (Lambda j) (x l r)) <= nu l) ->
  optimal m s d tau sigma x (only chosen c).
Proof.
  intros Hd T N U At H. apply attain_optimal with (Lambda := Lambda) (nu := nu); auto.
  - apply padded_feasible; auto.
  - unfold attain in *. rewrite At, G_only; auto.
Qed.
