(* lem-wa-privacy, lem-wa-variance: a weighted average with Laplace noise.

   In words. The records lie in an interval of width B. Publish sum c_i y_i + Z, where Z is Laplace noise
   of scale B t / eps and t is the largest weight of a person. This has privacy budget eps at user level,
   whatever the weights. If the records are independent with mean beta and variance sigma^2, then what is
   published has mean beta and variance sigma^2 sum c_i^2 + kappa t^2, where kappa = 2 (B/eps)^2.

   The box and this file:
   - people, sizes, weights, t                 as in WeightedAverage.v; record r of person l is (l, r)
   - records in an interval of width B         in_interval
   - neighbors                                 user_neighbors: equal records but for those of person l
   - Laplace noise of scale b                  laplace b, its density; the density of sum + Z is that of Z,
                                               shifted
   - every set of outputs                      an indicator function, whose products with the densities are
                                               integrable; Pr as in Integral.v
   - mean and variance                         those of any linear expectation (expectation)
   - t, and weights with sum 1                 in published_variance any t, and weights that may be negative
   - independent records, independent noise    uncorrelated: less than independent, but that the means of
                                               squares and products exist is assumed
   - the mean 0 and the variance 2 b^2 of      assumed: hypotheses of published_variance
     Laplace noise *)

Require Import FunctionalExtensionality.
From Book Require Import Vectors Integral WeightedAverage.

(* --- definitions ------------------------------------------------------------------------------ *)

Definition in_interval (m : nat) (s : nat -> nat) (low B : R) (y : nat -> nat -> R) : Prop :=
  forall l r, (l < m)%nat -> (r < s l)%nat -> low <= y l r <= low + B.

Definition user_neighbors (m : nat) (s : nat -> nat) (l : nat) (y y' : nat -> nat -> R) : Prop :=
  forall k r, (k < m)%nat -> (r < s k)%nat -> k <> l -> y k r = y' k r.

(* The definitions are not too narrow: all records of the interval count, and data with all records of
   person l replaced by any others are neighbors. *)
Lemma whole_interval m s low B y :
  (forall l r, low <= y l r <= low + B) -> in_interval m s low B y.
Proof. intros H l r _ _. apply H. Qed.

Lemma records_replaced m s l y z :
  user_neighbors m s l y (fun k r => if Nat.eqb k l then z r else y k r).
Proof. intros k r _ _ ne. rewrite (proj2 (Nat.eqb_neq k l) ne). auto. Qed.

Definition weighted_sum (m : nat) (s : nat -> nat) (c y : nat -> nat -> R) : R :=
  sum m (fun l => sum (s l) (fun r => c l r * y l r)).

Definition laplace (b x : R) : R := exp (- Rabs x / b) / (2 * b).

Definition noise_scale (m : nat) (s : nat -> nat) (B eps : R) (c : nat -> nat -> R) : R :=
  B * largest m (person_weight s c) / eps.

(* The density at x of what is published. *)
Definition published (m : nat) (s : nat -> nat) (B eps : R) (c y : nat -> nat -> R) (x : R) : R :=
  laplace (noise_scale m s B eps c) (x - weighted_sum m s c y).

(* --- privacy ---------------------------------------------------------------------------------- *)

Lemma largest_weight_pos m s c : is_record_weighting m s c -> 0 < largest m (person_weight s c).
Proof.
  intros [_ W]. destruct (largest_nonneg m (person_weight s c)) as [H | H]; auto. exfalso.
  assert (sum m (person_weight s c) <= sum m (fun _ => 0)).
  { apply sum_le; intros l Hl. rewrite H. apply largest_bounds; auto. }
  rewrite sum_const in H0. lra.
Qed.

Lemma sum_moves m s B low c y y' l :
  0 < B -> (l < m)%nat -> is_record_weighting m s c -> in_interval m s low B y ->
  in_interval m s low B y' ->
  user_neighbors m s l y y' ->
  Rabs (weighted_sum m s c y - weighted_sum m s c y') <= B * largest m (person_weight s c).
Proof.
  intros Bp Hl [C _] Y Y' Nb. unfold weighted_sum.
  rewrite (sum_change_one m _ _ l Hl).
  - rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs |].
    apply Rle_trans with (B * person_weight s c l).
    + unfold person_weight. rewrite <- sum_scale. apply sum_le; intros r Hr.
      replace (c l r * y l r - c l r * y' l r) with (c l r * (y l r - y' l r)) by ring.
      rewrite Rabs_mult, (Rabs_pos_eq (c l r)), Rmult_comm by auto.
      apply Rmult_le_compat_r; auto.
      destruct (Y l r Hl Hr), (Y' l r Hl Hr). apply Rabs_le; lra.
    + apply Rmult_le_compat_l; [lra | apply largest_bounds; auto].
  - intros k Hk ne. apply sum_ext; intros r Hr. rewrite (Nb k r Hk Hr ne). reflexivity.
Qed.

Theorem weighted_average_densities m s low B eps c y y' l x :
  0 < B -> 0 < eps -> (l < m)%nat -> is_record_weighting m s c ->
  in_interval m s low B y -> in_interval m s low B y' -> user_neighbors m s l y y' ->
  published m s B eps c y x <= exp eps * published m s B eps c y' x.
Proof.
  intros Bp Ep Hl C Y Y' Nb. assert (T := largest_weight_pos m s c C).
  assert (Mv := sum_moves m s B low c y y' l Bp Hl C Y Y' Nb).
  unfold published, laplace. set (b := noise_scale m s B eps c).
  assert (bp : 0 < b) by (apply Rdiv_lt_0_compat; auto; apply Rmult_lt_0_compat; auto).
  set (a := weighted_sum m s c y) in *. set (a' := weighted_sum m s c y') in *.
  unfold Rdiv at 1. replace (exp eps * (exp (- Rabs (x - a') / b) / (2 * b)))
    with (exp (eps + - Rabs (x - a') / b) * / (2 * b)) by (rewrite exp_plus; field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra |]. apply exp_monotone.
  assert (E : eps * b = B * largest m (person_weight s c)) by (unfold b, noise_scale; field; lra).
  assert (Tr := Rabs_triang (x - a) (a - a')). replace (x - a + (a - a')) with (x - a') in Tr by ring.
  apply Rmult_le_reg_r with b; auto.
  replace ((eps + - Rabs (x - a') / b) * b) with (eps * b - Rabs (x - a')) by (field; lra).
  replace (- Rabs (x - a) / b * b) with (- Rabs (x - a)) by (field; lra). lra.
Qed.

Theorem weighted_average_private m s low B eps c y y' l (I : integral R) S :
  0 < B -> 0 < eps -> (l < m)%nat -> is_record_weighting m s c ->
  in_interval m s low B y -> in_interval m s low B y' -> user_neighbors m s l y y' ->
  event S -> integrable I (fun x => S x * published m s B eps c y x) ->
  integrable I (fun x => S x * published m s B eps c y' x) ->
  Pr I (published m s B eps c y) S <= exp eps * Pr I (published m s B eps c y') S.
Proof.
  intros Bp Ep Hl C Y Y' Nb E I1 I2. apply density_ratio; auto.
  intros x. apply weighted_average_densities with (low := low) (l := l); auto.
Qed.

(* --- mean and variance ------------------------------------------------------------------------ *)

(* What is used of an expectation: it is linear, and that of a constant is the constant. *)
Record expectation (Omega : Type) := {
  has_mean : (Omega -> R) -> Prop;
  mean : (Omega -> R) -> R;
  mean_constant : forall a, has_mean (fun _ => a) /\ mean (fun _ => a) = a;
  mean_plus : forall X Y, has_mean X -> has_mean Y ->
    has_mean (fun o => X o + Y o) /\ mean (fun o => X o + Y o) = mean X + mean Y;
  mean_scale : forall a X, has_mean X ->
    has_mean (fun o => a * X o) /\ mean (fun o => a * X o) = a * mean X
}.

Arguments has_mean {Omega}.
Arguments mean {Omega}.

(* There is one: the mean over n points with weights p that sum to 1. *)
Lemma weights_give_an_expectation n p :
  sum n p = 1 ->
  exists E : expectation nat, forall X, has_mean E X /\ mean E X = sum n (fun j => p j * X j).
Proof.
  intros One. unshelve eexists.
  - refine {| has_mean := fun _ => True; mean := fun X => sum n (fun j => p j * X j) |}.
    + intros a. split; auto. rewrite (sum_ext n _ (fun j => a * p j)) by (intros; ring).
      rewrite sum_scale, One. ring.
    + intros X Y _ _. split; auto. rewrite <- sum_plus. apply sum_ext; intros; ring.
    + intros a X _. split; auto. rewrite <- sum_scale. apply sum_ext; intros; ring.
  - intros X; simpl; auto.
Qed.

Definition variance_of {Omega} (E : expectation Omega) (X : Omega -> R) : R :=
  mean E (fun o => (X o - mean E X)^2).

(* Products of two of the first n variables have a mean, and it is 0 for two that differ, once the means
   are subtracted. *)
Definition uncorrelated {Omega} (E : expectation Omega) (n : nat)
    (X : nat -> Omega -> R) : Prop :=
  forall i j, (i < n)%nat -> (j < n)%nat ->
    has_mean E (fun o => (X i o - mean E (X i)) * (X j o - mean E (X j))) /\
    (i <> j -> mean E (fun o => (X i o - mean E (X i)) * (X j o - mean E (X j))) = 0).

Lemma mean_sum {Omega} (E : expectation Omega) n a (X : nat -> Omega -> R) :
  (forall i, (i < n)%nat -> has_mean E (X i)) ->
  has_mean E (fun o => sum n (fun i => a i * X i o)) /\
  mean E (fun o => sum n (fun i => a i * X i o)) = sum n (fun i => a i * mean E (X i)).
Proof.
  induction n; intros H; simpl; [apply mean_constant |].
  destruct IHn as [H1 E1]; [auto with arith |].
  destruct (mean_scale _ E (a n) (X n)) as [H2 E2]; auto.
  destruct (mean_plus _ E _ _ H1 H2) as [H3 E3]. split; auto. rewrite E3, E1, E2. reflexivity.
Qed.

(* Squares of sums of centered, uncorrelated variables. *)
Lemma mean_square {Omega} (E : expectation Omega) n a (U : nat -> Omega -> R) :
  (forall i j, (i < n)%nat -> (j < n)%nat -> has_mean E (fun o => U i o * U j o) /\
    (i <> j -> mean E (fun o => U i o * U j o) = 0)) ->
  has_mean E (fun o => (sum n (fun i => a i * U i o))^2) /\
  mean E (fun o => (sum n (fun i => a i * U i o))^2) =
    sum n (fun i => (a i)^2 * mean E (fun o => (U i o)^2)).
Proof.
  induction n; intros H; cbn [sum].
  - replace (fun _ : Omega => 0^2) with (fun _ : Omega => 0).
    + apply mean_constant.
    + apply functional_extensionality; intros; ring.
  - destruct IHn as [H1 E1]; [auto |].
    destruct (mean_sum E n a (fun i o => U i o * U n o)) as [H2 E2]; [intros; apply H; lia |].
    destruct (mean_scale _ E (2 * a n) _ H2) as [H3 E3].
    assert (H4 : has_mean E (fun o => (U n o)^2)).
    { replace (fun o => (U n o)^2) with (fun o => U n o * U n o).
      - apply H; lia.
      - apply functional_extensionality; intros; ring. }
    destruct (mean_scale _ E ((a n)^2) _ H4) as [H5 E5].
    destruct (mean_plus _ E _ _ H1 H3) as [H6 E6]. destruct (mean_plus _ E _ _ H6 H5) as [H7 E7].
    replace (fun o => (sum n (fun i => a i * U i o) + a n * U n o)^2) with
      (fun o => (sum n (fun i => a i * U i o))^2 + 2 * a n * sum n (fun i => a i * (U i o * U n o))
        + (a n)^2 * (U n o)^2).
    + split; auto. rewrite E7, E6, E5, E3, E2, E1.
      rewrite (sum_zero n (fun i => a i * mean E (fun o => U i o * U n o))); [ring |].
      intros i Hi. rewrite (proj2 (H i n ltac:(lia) ltac:(lia))) by lia. ring.
    + apply functional_extensionality; intros o.
      rewrite (sum_ext n (fun i => a i * (U i o * U n o)) (fun i => U n o * (a i * U i o))) by (intros; ring).
      rewrite sum_scale. ring.
Qed.

Definition kappa (B eps : R) : R := 2 * (B / eps)^2.

(* The records Y 0, ..., Y (n - 1), and after them the noise, Y n; t is the largest weight. *)
Theorem published_mean {Omega} (E : expectation Omega) n c (Y : nat -> Omega -> R) beta :
  sum n c = 1 -> (forall i, (i <= n)%nat -> has_mean E (Y i)) ->
  (forall i, (i < n)%nat -> mean E (Y i) = beta) -> mean E (Y n) = 0 ->
  mean E (fun o => sum n (fun i => c i * Y i o) + Y n o) = beta.
Proof.
  intros C H M Z. destruct (mean_sum E n c Y) as [H1 E1]; [intros; apply H; lia |].
  destruct (mean_plus _ E _ _ H1 (H n ltac:(lia))) as [_ ->]. rewrite E1, Z.
  rewrite (sum_ext n _ (fun i => beta * c i)) by (intros; rewrite M; auto; ring).
  rewrite sum_scale, C. ring.
Qed.

Theorem published_variance {Omega} (E : expectation Omega) n c (Y : nat -> Omega -> R) beta sigma
    B eps t :
  sum n c = 1 -> 0 < eps -> (forall i, (i <= n)%nat -> has_mean E (Y i)) ->
  uncorrelated E (S n) Y ->
  (forall i, (i < n)%nat -> mean E (Y i) = beta /\ variance_of E (Y i) = sigma^2) ->
  mean E (Y n) = 0 -> variance_of E (Y n) = 2 * (B * t / eps)^2 ->
  variance_of E (fun o => sum n (fun i => c i * Y i o) + Y n o) =
  sigma^2 * sum n (fun i => (c i)^2) + kappa B eps * t^2.
Proof.
  intros C Ep H Un R Z V.
  set (a := fun i => if Nat.eqb i n then 1 else c i).
  assert (M := published_mean E n c Y beta C H ltac:(intros; apply R; auto) Z).
  unfold variance_of at 1. rewrite M.
  destruct (mean_square E (S n) a (fun i o => Y i o - mean E (Y i)) Un) as [_ S].
  replace (fun o => (sum n (fun i => c i * Y i o) + Y n o - beta)^2) with
    (fun o => (sum (Datatypes.S n) (fun i => a i * (Y i o - mean E (Y i))))^2).
  - rewrite S. cbn [sum]. unfold a at 2. rewrite Nat.eqb_refl.
    change (mean E (fun o => (Y n o - mean E (Y n))^2)) with (variance_of E (Y n)). rewrite V.
    rewrite <- sum_scale. unfold kappa. f_equal; [| field; lra].
    apply sum_ext; intros i Hi. unfold a. rewrite (proj2 (Nat.eqb_neq i n)) by lia.
    change (mean E (fun o => (Y i o - mean E (Y i))^2)) with (variance_of E (Y i)).
    rewrite (proj2 (R i Hi)). ring.
  - apply functional_extensionality; intros o. f_equal. cbn [sum]. unfold a at 2. rewrite Nat.eqb_refl, Z.
    rewrite (sum_ext n _ (fun i => c i * Y i o - beta * c i)).
    + rewrite sum_minus, sum_scale, C. ring.
    + intros i Hi. unfold a. rewrite (proj2 (Nat.eqb_neq i n)), (proj1 (R i Hi)) by lia. ring.
Qed.
