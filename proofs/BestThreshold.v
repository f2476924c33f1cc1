(* prop-best-threshold: the best threshold.

   In words. Leave out whoever allows less than tau, give the m(tau) others the weight 1/m(tau) each,
   and add noise of rate tau m(tau) / C. Let M be the largest k eps_(k) of the sorted budgets.
   1. Whoever takes part loses at most tau <= eps_i, and whoever is left out loses nothing.
   2. The largest rate of all thresholds is M / C.
   3. M <= sum eps <= H_n M, and the second is an equality exactly for budgets in proportion to 1/k.
      If all budgets lie between a and b, then sum eps <= (1 + ln (b/a)) M.

   The box and this file:
   - n people, budgets above 0                 eps : nat -> R
   - the sorted budgets                        is_sorted: eps 0 >= eps 1 >= ...; part 2 and 3 are about
                                               sorted budgets only; that sorting changes no count and
                                               no sum is not proven
   - m(tau)                                    count n eps tau
   - M                                         best n eps, the largest k eps_(k)
   - H_n                                       harmonic n
   - the weight 1/m(tau), the rate             threshold_weight, threshold_rate
   - the loss of a person                      the ratio of the densities of the release, given that the
                                               center moves by at most w_i C *)

Require Import FunctionalExtensionality.
From Book Require Import Vectors PdpOp.

(* --- definitions ------------------------------------------------------------------------------ *)

(* How many of the n budgets are at least tau. *)
Definition count (n : nat) (eps : nat -> R) (tau : R) : R :=
  sum n (fun j => if Rle_dec tau (eps j) then 1 else 0).

Definition threshold_weight (n : nat) (eps : nat -> R) (tau : R) (i : nat) : R :=
  if Rle_dec tau (eps i) then 1 / count n eps tau else 0.

Definition threshold_rate (n : nat) (eps : nat -> R) (tau C : R) : R := tau * count n eps tau / C.

Definition is_sorted (n : nat) (eps : nat -> R) : Prop :=
  forall i j, (i <= j)%nat -> (j < n)%nat -> eps j <= eps i.

(* The largest k eps_(k) for k = 1, ..., n; the k-th largest budget is eps (k - 1). *)
Fixpoint best (n : nat) (eps : nat -> R) : R :=
  match n with
  | O => 0
  | S k => Rmax (best k eps) (INR (S k) * eps k)
  end.

Definition harmonic (n : nat) : R := sum n (fun k => 1 / INR (S k)).

(* --- part 1 ----------------------------------------------------------------------------------- *)

Lemma indicator_nonneg tau x : 0 <= (if Rle_dec tau x then 1 else 0).
Proof. destruct (Rle_dec tau x); lra. Qed.

Lemma count_pos n eps tau i : (i < n)%nat -> tau <= eps i -> 0 < count n eps tau.
Proof.
  intros Hi H. assert (A := term_le_sum n (fun j => if Rle_dec tau (eps j) then 1 else 0) i Hi).
  cbv beta in A. destruct (Rle_dec tau (eps i)); [| lra].
  assert (B : 1 <= count n eps tau) by (apply A; intros; apply indicator_nonneg). lra.
Qed.

(* A move of at most w_i C changes the log-density by at most tau, which is at most eps_i. *)
Theorem threshold_takes_part n d eps tau C K i center center' o :
  0 < tau -> 0 < C -> 0 < K -> (i < n)%nat -> tau <= eps i ->
  norm d (minus center center') <= threshold_weight n eps tau i * C ->
  density d (threshold_rate n eps tau C) K center o <=
  exp tau * density d (threshold_rate n eps tau C) K center' o.
Proof.
  intros T Cp Kp Hi H Mv. assert (P := count_pos n eps tau i Hi H).
  assert (R : 0 < threshold_rate n eps tau C) by (apply Rdiv_lt_0_compat; nra).
  apply density_shift; auto. unfold threshold_weight in Mv. destruct (Rle_dec tau (eps i)); [| lra].
  replace tau with (threshold_rate n eps tau C * (1 / count n eps tau * C)) at 2
    by (unfold threshold_rate; field; lra).
  apply Rmult_le_compat_l; lra.
Qed.

Theorem threshold_left_out n d eps tau C K i center center' o :
  eps i < tau -> norm d (minus center center') <= threshold_weight n eps tau i * C ->
  density d (threshold_rate n eps tau C) K center o =
    density d (threshold_rate n eps tau C) K center' o.
Proof.
  intros H Mv. unfold threshold_weight in Mv. destruct (Rle_dec tau (eps i)); [lra |].
  assert (Z := norm_nonneg d (minus center center')).
  assert (A := norm_difference d o center center'). assert (B := norm_difference d o center' center).
  rewrite (norm_minus_sym d center' center) in B.
  unfold density. do 3 f_equal. lra.
Qed.

(* --- part 2 ----------------------------------------------------------------------------------- *)

Lemma best_nonneg n eps : 0 <= best n eps.
Proof. induction n; simpl best; [lra |]. eapply Rle_trans; [apply IHn | apply Rmax_l]. Qed.

Lemma best_bounds n eps k : (k < n)%nat -> INR (S k) * eps k <= best n eps.
Proof.
  induction n; intros H; [lia |]. simpl best.
  destruct (Nat.eq_dec k n) as [-> | ne]; [apply Rmax_r |].
  eapply Rle_trans; [apply IHn; lia | apply Rmax_l].
Qed.

Lemma best_is_one n eps : (0 < n)%nat -> all_positive n eps ->
  exists k, (k < n)%nat /\ best n eps = INR (S k) * eps k.
Proof.
  induction n; intros Hn P; [lia |].
  change (best (S n) eps) with (Rmax (best n eps) (INR (S n) * eps n)).
  destruct (Rle_lt_dec (best n eps) (INR (S n) * eps n)) as [H | H].
  - exists n; split; [lia | apply Rmax_right; auto].
  - rewrite Rmax_left by lra. destruct n as [| n].
    + assert (0 < INR 1 * eps 0%nat) by (apply Rmult_lt_0_compat; [simpl; lra | auto]).
      change (best 0 eps) with 0 in H. lra.
    + destruct IHn as (k & Hk & E); [lia | intros j Hj; apply P; lia |]. exists k; split; [lia | auto].
Qed.

Lemma count_scale n eps tau : count n eps tau <= INR n.
Proof.
  unfold count. rewrite <- (Rmult_1_r (INR n)), <- (sum_const n 1).
  apply sum_le; intros. destruct (Rle_dec tau (eps j)); lra.
Qed.

(* Of sorted budgets the first reach a threshold: as many as the count says. *)
Lemma count_first n eps tau :
  is_sorted n eps -> exists m, (m <= n)%nat /\ count n eps tau = INR m /\
    forall j, (j < n)%nat -> (tau <= eps j <-> (j < m)%nat).
Proof.
  intros So. induction n as [| n IH].
  - exists 0%nat; repeat split; auto; lia.
  - destruct IH as (m & Hm & E & A); [intros i j ? ?; apply So; lia |].
    unfold count; simpl; fold (count n eps tau). rewrite E.
    destruct (Rle_dec tau (eps n)) as [le | nle].
    + assert (m = n) as ->.
      { destruct (Nat.eq_dec m n); auto. assert (m < n)%nat by lia.
        assert (~ tau <= eps m) by (intros H1; apply A in H1; lia).
        assert (B := So m n ltac:(lia) ltac:(lia)). lra. }
      exists (S n). rewrite S_INR. split; [lia | split; [auto |]]. intros j Hj. split; intros; [lia |].
      assert (B := So j n ltac:(lia) ltac:(lia)). lra.
    + exists m. rewrite Rplus_0_r. split; [lia | split; [auto |]]. intros j Hj.
      destruct (Nat.eq_dec j n) as [-> | ne]; [split; [lra | lia] | apply A; lia].
Qed.

Theorem threshold_rate_bounded n eps tau C :
  0 < C -> 0 < tau -> is_sorted n eps -> threshold_rate n eps tau C <= best n eps / C.
Proof.
  intros Cp T So. unfold threshold_rate. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto |].
  destruct (count_first n eps tau So) as (m & Hm & -> & A). destruct m as [| m].
  - simpl. rewrite Rmult_0_r. apply best_nonneg.
  - assert (B := best_bounds n eps m ltac:(lia)). assert (tau <= eps m) by (apply A; lia).
    assert (0 < INR (S m)) by (apply lt_0_INR; lia). nra.
Qed.

Theorem threshold_rate_reached n eps C :
  0 < C -> (0 < n)%nat -> all_positive n eps -> is_sorted n eps ->
  exists tau, 0 < tau /\ threshold_rate n eps tau C = best n eps / C.
Proof.
  intros Cp Hn P So. destruct (best_is_one n eps Hn P) as (k & Hk & E).
  exists (eps k). split; auto. apply Rle_antisym; [apply threshold_rate_bounded; auto |].
  unfold threshold_rate. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto |].
  destruct (count_first n eps (eps k) So) as (m & Hm & -> & A).
  assert (k < m)%nat by (apply A; auto; lra).
  rewrite E, Rmult_comm. apply Rmult_le_compat_l; [apply Rlt_le; auto | apply le_INR; lia].
Qed.

(* --- part 3 ----------------------------------------------------------------------------------- *)

Theorem best_at_most_sum n eps :
  all_positive n eps -> is_sorted n eps -> best n eps <= sum n eps.
Proof.
  intros P So. destruct n as [| n]; [simpl; lra |].
  destruct (best_is_one (S n) eps ltac:(lia) P) as (k & Hk & ->).
  rewrite <- (sum_const (S k) (eps k)).
  apply Rle_trans with (sum (S k) eps); [apply sum_le; intros; apply So; lia |].
  clear So. revert P; induction n; intros P.
  - assert (k = 0)%nat as -> by lia. lra.
  - destruct (Nat.eq_dec k (S n)) as [-> | ne]; [lra |].
    change (sum (S (S n)) eps) with (sum (S n) eps + eps (S n)).
    assert (0 < eps (S n)) by (apply P; lia).
    assert (sum (S k) eps <= sum (S n) eps) by (apply IHn; [lia | intros j Hj; apply P; lia]). lra.
Qed.

Lemma step_height n eps k : (k < n)%nat -> eps k <= best n eps * (1 / INR (S k)).
Proof.
  intros H. assert (A := best_bounds n eps k H). assert (P : 0 < INR (S k)) by (apply lt_0_INR; lia).
  apply Rmult_le_reg_l with (INR (S k)); auto.
  replace (INR (S k) * (best n eps * (1 / INR (S k)))) with (best n eps) by (field; lra). auto.
Qed.

Theorem sum_at_most_harmonic n eps : sum n eps <= harmonic n * best n eps.
Proof.
  unfold harmonic. rewrite Rmult_comm, <- sum_scale. apply sum_le; intros; apply step_height; auto.
Qed.

(* Equality exactly for budgets in proportion to 1/k. *)
Theorem harmonic_attained n eps :
  (0 < n)%nat -> all_positive n eps ->
  (sum n eps = harmonic n * best n eps <->
   exists a, forall k, (k < n)%nat -> eps k = a / INR (S k)).
Proof.
  intros Hn P. unfold harmonic. rewrite Rmult_comm, <- sum_scale. split.
  - intros E. exists (best n eps). intros k Hk.
    assert (A : best n eps * (1 / INR (S k)) - eps k = 0).
    { apply (sum_zero_inv n (fun k => best n eps * (1 / INR (S k)) - eps k)); auto.
      - intros j Hj. assert (B := step_height n eps j Hj). lra.
      - rewrite sum_minus. lra. }
    unfold Rdiv in *. lra.
  - intros [a A].
    assert (B : best n eps = a).
    { destruct (best_is_one n eps Hn P) as (k & Hk & ->). rewrite A by auto.
      assert (0 < INR (S k)) by (apply lt_0_INR; lia). field; lra. }
    apply sum_ext; intros k Hk. rewrite A, B by auto. unfold Rdiv; ring.
Qed.

Lemma log_step x y : 0 < x -> 0 < y -> 1 - y / x <= ln x - ln y.
Proof.
  intros X Y. assert (A := exp_ineq1_le (ln y - ln x)). unfold Rminus in A at 2.
  rewrite exp_plus, exp_Ropp, !exp_ln in A by auto. unfold Rdiv. lra.
Qed.

(* Sum by steps of the staircase: step k has the height eps_k - eps_(k+1). *)
Lemma staircase n eps m :
  all_positive n eps -> is_sorted n eps -> (m < n)%nat ->
  sum (S m) eps - INR (S m) * eps m <= best n eps * (ln (eps 0%nat) - ln (eps m)).
Proof.
  intros P So. induction m; intros Hm.
  - simpl. lra.
  - specialize (IHm ltac:(lia)).
    assert (A := best_bounds n eps m ltac:(lia)).
    assert (X := P m ltac:(lia)). assert (Y := P (S m) Hm).
    assert (L := log_step (eps m) (eps (S m)) X Y).
    assert (D := So m (S m) ltac:(lia) Hm).
    assert (B : INR (S m) * (eps m - eps (S m)) <= best n eps * (ln (eps m) - ln (eps (S m)))).
    { replace (INR (S m) * (eps m - eps (S m)))
        with (INR (S m) * eps m * (1 - eps (S m) / eps m)) by (field; lra).
      assert (0 <= 1 - eps (S m) / eps m).
      { apply Rmult_le_reg_r with (eps m); auto. field_simplify; lra. }
      apply Rmult_le_compat; auto. apply Rmult_le_pos; [apply pos_INR | lra]. }
    change (sum (S (S m)) eps) with (sum (S m) eps + eps (S m)). rewrite (S_INR (S m)). lra.
Qed.

Theorem sum_at_most_log n eps a b :
  (0 < n)%nat -> 0 < a -> (forall j, (j < n)%nat -> a <= eps j <= b) -> is_sorted n eps ->
  sum n eps <= (1 + ln (b / a)) * best n eps.
Proof.
  intros Hn A H So. destruct n as [| m]; [lia |].
  assert (P : forall j, (j < S m)%nat -> 0 < eps j) by (intros j Hj; destruct (H j Hj); lra).
  assert (F := staircase (S m) eps m P So ltac:(lia)).
  assert (E := best_bounds (S m) eps m ltac:(lia)).
  destruct (H 0%nat ltac:(lia)) as [_ b0]. destruct (H m ltac:(lia)) as [am _].
  assert (Q := P 0%nat ltac:(lia)). assert (Bp : 0 < b) by lra.
  assert (ln (eps 0%nat) - ln (eps m) <= ln (b / a)).
  { unfold Rdiv. rewrite ln_mult, ln_Rinv by (auto using Rinv_0_lt_compat).
    assert (ln (eps 0%nat) <= ln b) by (destruct b0; [left; apply ln_increasing; auto | subst; lra]).
    assert (ln a <= ln (eps m)) by (destruct am; [left; apply ln_increasing; auto | subst; lra]). lra. }
  assert (N := best_nonneg (S m) eps). nra.
Qed.
