(* thm-rr-privacy: privacy of personal coins.

   In words. Everybody has a bit and a budget. With probability tanh(eps/2) the report of a person is
   the bit, otherwise a fair coin, and all choices are independent. The vector of all reports is
   (eps_1, ..., eps_n)-differentially private, so is anything computed from it, and no eps_i can be
   made smaller.

   The box and this file:
   - n people, records x_i in {0, 1}           n : nat, x : nat -> bool, where x i counts for i < n
   - budgets eps_i > 0                         eps : nat -> R, assumed to be positive
   - the report of a person (def-rr-coin)      report_chance
   - independence                              chance is a product, by definition
   - neighbors, differ in record i only        differ_at
   - a set S of outputs                        a function from outputs to bool (there are 2^n outputs)
   - anything computed from the reports        coins_post_processing, and coins_random_processing if the
                                               computation draws at random
   - (eps_1, ..., eps_n)-private (def-rr-promise)   the conclusion of coins_private, written out *)

Require Import Bool.
From Book Require Import Vectors.

(* --- definitions ------------------------------------------------------------------------------ *)

(* The chance of the report y for the bit x: the truth with probability t, else a fair coin. *)
Definition report_chance (eps : R) (x y : bool) : R :=
  tanh (eps / 2) * (if eqb x y then 1 else 0) + (1 - tanh (eps / 2)) * (1 / 2).

(* product n f is f 0 * ... * f (n - 1). *)
Fixpoint product (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 1
  | S k => product k f * f k
  end.

(* The chance of all reports y, given all bits x. *)
Definition chance (n : nat) (eps : nat -> R) (x y : nat -> bool) : R :=
  product n (fun j => report_chance (eps j) (x j) (y j)).

(* y, but for the report of person k, which is b. *)
Definition set (y : nat -> bool) (k : nat) (b : bool) : nat -> bool :=
  fun j => if Nat.eqb j k then b else y j.

(* The sum of F over all 2^n vectors of n reports. *)
Fixpoint sum_outputs (n : nat) (F : (nat -> bool) -> R) : R :=
  match n with
  | O => F (fun _ => false)
  | S k => sum_outputs k (fun y => F (set y k false) + F (set y k true))
  end.

(* The probability that the reports lie in S. *)
Definition Pr (n : nat) (eps : nat -> R) (x : nat -> bool) (S : (nat -> bool) -> bool) : R :=
  sum_outputs n (fun y => if S y then chance n eps x y else 0).

Definition differ_at (n i : nat) (x x' : nat -> bool) : Prop :=
  forall j, (j < n)%nat -> j <> i -> x j = x' j.

(* --- one report ------------------------------------------------------------------------------- *)

Lemma report_true eps x : report_chance eps x x = exp eps / (1 + exp eps).
Proof.
  unfold report_chance, tanh, sinh, cosh. rewrite eqb_reflx.
  assert (P := exp_pos (eps / 2)).
  replace (exp eps) with (exp (eps / 2) * exp (eps / 2)) by (rewrite <- exp_plus; f_equal; lra).
  rewrite exp_Ropp. field. repeat split; nra.
Qed.

Lemma report_sum eps x : report_chance eps x false + report_chance eps x true = 1.
Proof. unfold report_chance. destruct x; simpl; lra. Qed.

Lemma report_false eps x : report_chance eps x (negb x) = 1 / (1 + exp eps).
Proof.
  assert (P := exp_pos eps). assert (S := report_sum eps x). assert (T := report_true eps x).
  replace (1 / (1 + exp eps)) with (1 - exp eps / (1 + exp eps)) by (field; lra).
  rewrite <- T. destruct x; simpl in *; lra.
Qed.

Lemma report_pos eps x y : 0 < report_chance eps x y.
Proof.
  assert (P := exp_pos eps).
  destruct (bool_dec x y) as [<- | ne].
  - rewrite report_true. apply Rdiv_lt_0_compat; lra.
  - replace y with (negb x) by (destruct x, y; simpl; congruence).
    rewrite report_false. apply Rdiv_lt_0_compat; lra.
Qed.

Lemma report_ratio eps x x' y :
  0 <= eps -> report_chance eps x y <= exp eps * report_chance eps x' y.
Proof.
  intros H. assert (E : 1 <= exp eps) by (assert (A := exp_ineq1_le eps); lra).
  assert (Q := report_pos eps x' y).
  destruct (bool_dec x x') as [<- | ne]; [nra |].
  replace x' with (negb x) in * by (destruct x, x'; simpl; congruence).
  destruct (bool_dec x y) as [<- | nf].
  - right. replace x with (negb (negb x)) at 4 by apply negb_involutive.
    rewrite report_true, report_false. field; lra.
  - replace y with (negb x) by (destruct x, y; simpl; congruence).
    rewrite report_true, report_false.
    apply Rmult_le_reg_r with (1 + exp eps); [lra |]. field_simplify; nra.
Qed.

(* --- all reports ------------------------------------------------------------------------------ *)

Lemma product_ext n f g : (forall j, (j < n)%nat -> f j = g j) -> product n f = product n g.
Proof. induction n; simpl; intros H; auto. rewrite IHn, H; auto with arith. Qed.

Lemma product_nonneg n f : (forall j, (j < n)%nat -> 0 <= f j) -> 0 <= product n f.
Proof. induction n; simpl; intros H; [lra |]. apply Rmult_le_pos; auto. Qed.

Lemma product_change_one n f g i c :
  (i < n)%nat -> (forall j, (j < n)%nat -> 0 <= g j) ->
  (forall j, (j < n)%nat -> j <> i -> f j = g j) -> f i <= c * g i ->
  product n f <= c * product n g.
Proof.
  induction n; simpl; intros Hi P E H; [lia |].
  destruct (Nat.eq_dec i n) as [-> | ne].
  - rewrite (product_ext n f g) by (intros; apply E; lia).
    assert (0 <= product n g) by (apply product_nonneg; auto). nra.
  - rewrite (E n) by lia. assert (0 <= g n) by auto.
    assert (product n f <= c * product n g) by (apply IHn; auto; lia). nra.
Qed.

Lemma chance_ratio n eps x x' y i :
  (i < n)%nat -> 0 <= eps i -> differ_at n i x x' ->
  chance n eps x y <= exp (eps i) * chance n eps x' y.
Proof.
  intros Hi He D. apply product_change_one with (i := i); auto.
  - intros; apply Rlt_le, report_pos.
  - intros j Hj ne. rewrite (D j Hj ne); reflexivity.
  - apply report_ratio; auto.
Qed.

Lemma sum_outputs_le n F G : (forall y, F y <= G y) -> sum_outputs n F <= sum_outputs n G.
Proof.
  revert F G; induction n; simpl; intros F G H; auto.
  apply IHn; intros. apply Rplus_le_compat; auto.
Qed.

Lemma sum_outputs_ext n F G : (forall y, F y = G y) -> sum_outputs n F = sum_outputs n G.
Proof. intros H. apply Rle_antisym; apply sum_outputs_le; intros; rewrite H; lra. Qed.

Lemma sum_outputs_scale n a F : sum_outputs n (fun y => a * F y) = a * sum_outputs n F.
Proof.
  revert F; induction n; simpl; intros F; auto.
  rewrite <- IHn. apply sum_outputs_ext; intros; lra.
Qed.

(* A sum of products over all outputs is a product of sums, one for each person. *)
Lemma sum_of_products n (f : nat -> bool -> R) :
  sum_outputs n (fun y => product n (fun j => f j (y j))) =
  product n (fun j => f j false + f j true).
Proof.
  induction n; simpl; auto.
  rewrite <- IHn, Rmult_comm, <- sum_outputs_scale. apply sum_outputs_ext; intros y.
  rewrite !(product_ext n (fun j => f j (set y n _ j)) (fun j => f j (y j))).
  - unfold set; rewrite Nat.eqb_refl; lra.
  - intros j Hj; unfold set. rewrite (proj2 (Nat.eqb_neq j n)) by lia; auto.
  - intros j Hj; unfold set. rewrite (proj2 (Nat.eqb_neq j n)) by lia; auto.
Qed.

Lemma product_one n i f :
  (i < n)%nat -> (forall j, (j < n)%nat -> j <> i -> f j = 1) -> product n f = f i.
Proof.
  intros Hi E.
  assert (A : forall k, (k <= n)%nat -> product k f = if Nat.ltb i k then f i else 1).
  { induction k; cbn [product]; intros Hk; [reflexivity |]. rewrite IHk by lia.
    destruct (Nat.eq_dec k i) as [-> | ne].
    - rewrite (proj2 (Nat.ltb_ge i i)), (proj2 (Nat.ltb_lt i (S i))) by lia. lra.
    - rewrite (E k) by lia. destruct (Nat.ltb_spec i k), (Nat.ltb_spec i (S k)); try lia; lra. }
  rewrite A, (proj2 (Nat.ltb_lt i n)) by lia. reflexivity.
Qed.

(* The report of person i says b. *)
Definition says (i : nat) (b : bool) : (nat -> bool) -> bool := fun y => eqb (y i) b.

Lemma Pr_says n eps x i b : (i < n)%nat -> Pr n eps x (says i b) = report_chance (eps i) (x i) b.
Proof.
  intros Hi. unfold Pr, says.
  set (f := fun j y => if andb (Nat.eqb j i) (negb (eqb y b)) then 0
                       else report_chance (eps j) (x j) y).
  rewrite (sum_outputs_ext n _ (fun y => product n (fun j => f j (y j)))).
  - rewrite sum_of_products, (product_one n i); auto; unfold f.
    + rewrite Nat.eqb_refl. destruct b; simpl; lra.
    + intros j Hj ne. rewrite (proj2 (Nat.eqb_neq j i)) by auto. apply report_sum.
  - intros y. unfold chance. destruct (eqb (y i) b) eqn:E.
    + apply product_ext; intros j Hj; unfold f.
      destruct (Nat.eqb_spec j i) as [-> | ne]; auto. rewrite E; auto.
    + symmetry. apply Rle_antisym.
      * rewrite <- (Rmult_0_l (product n (fun j => report_chance (eps j) (x j) (y j)))).
        apply product_change_one with (i := i); auto; unfold f.
        -- intros; apply Rlt_le, report_pos.
        -- intros j Hj ne. rewrite (proj2 (Nat.eqb_neq j i)) by auto. reflexivity.
        -- rewrite Nat.eqb_refl, E; simpl; lra.
      * apply product_nonneg; intros j Hj; unfold f.
        destruct (_ && _)%bool; [lra | apply Rlt_le, report_pos].
Qed.

(* --- the theorem ------------------------------------------------------------------------------ *)

Theorem coins_private n eps x x' i S :
  (i < n)%nat -> 0 < eps i -> differ_at n i x x' ->
  Pr n eps x S <= exp (eps i) * Pr n eps x' S.
Proof.
  intros Hi He D. unfold Pr. rewrite <- sum_outputs_scale. apply sum_outputs_le; intros y.
  destruct (S y); [apply chance_ratio; auto; lra | lra].
Qed.

(* Anything computed from the reports: f y lies in S exactly if y lies in the set of such reports. *)
Theorem coins_post_processing n eps x x' i (T : Type) (f : (nat -> bool) -> T) (S : T -> bool) :
  (i < n)%nat -> 0 < eps i -> differ_at n i x x' ->
  Pr n eps x (fun y => S (f y)) <= exp (eps i) * Pr n eps x' (fun y => S (f y)).
Proof. intros; apply coins_private; auto. Qed.

(* The same if the computation draws at random, too: k y is the chance that what is computed from the
   reports y lies in a set. *)
Theorem coins_random_processing n eps x x' i (k : (nat -> bool) -> R) :
  (i < n)%nat -> 0 < eps i -> differ_at n i x x' -> (forall y, 0 <= k y <= 1) ->
  sum_outputs n (fun y => chance n eps x y * k y) <=
    exp (eps i) * sum_outputs n (fun y => chance n eps x' y * k y).
Proof.
  intros Hi He D K. rewrite <- sum_outputs_scale. apply sum_outputs_le; intros y.
  assert (A := chance_ratio n eps x x' y i Hi ltac:(lra) D). destruct (K y). nra.
Qed.

(* A number that serves in place of the budget of person i is not below it. *)
Theorem coins_budget_smallest n eps i c :
  (i < n)%nat ->
  (forall x x' S, differ_at n i x x' -> Pr n eps x S <= exp c * Pr n eps x' S) ->
  eps i <= c.
Proof.
  intros Hi H.
  assert (D : differ_at n i (fun _ => true) (set (fun _ => true) i false)).
  { intros j Hj ne. unfold set. rewrite (proj2 (Nat.eqb_neq j i)) by auto. auto. }
  specialize (H _ _ (says i true) D). rewrite !Pr_says in H by auto.
  unfold set in H. rewrite Nat.eqb_refl in H.
  rewrite report_true in H. rewrite (report_false (eps i) false : report_chance (eps i) false true = _) in H.
  assert (P := exp_pos (eps i)).
  assert (E : exp (eps i) <= exp c).
  { apply Rmult_le_reg_r with (/ (1 + exp (eps i))); [apply Rinv_0_lt_compat; lra |].
    unfold Rdiv in H. lra. }
  destruct E as [E | E]; [left; apply exp_lt_inv; auto | right; apply exp_inv; auto].
Qed.

(* The probabilities of all outputs add up to 1. *)
Theorem coins_total n eps x : Pr n eps x (fun _ => true) = 1.
Proof.
  unfold Pr, chance. rewrite (sum_of_products n (fun j => report_chance (eps j) (x j))).
  assert (A : forall k, product k (fun _ => 1) = 1) by (induction k; simpl; lra).
  rewrite <- (A n). apply product_ext; intros; apply report_sum.
Qed.
