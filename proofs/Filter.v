(* thm-individual-filter: leaving people out by what their own record can cost keeps each budget.

   In words. Each of k releases may be chosen by all earlier outputs. The filter admits a person to a release
   if what they have paid and its cost for their record are at most their budget; whoever is admitted pays.
   Then all outputs together, with person i and without, are as close as the budget B_i says: B_i-
   differentially private for pure costs, and Renyi divergences of at most B_i in both directions for Renyi
   costs. Nobody ever pays more than their budget.

   The box and this file:
   - outputs of one release                    elements of any type X; the past is a list, the latest first
   - the cost c_t(z_i), >= 0                   cost P i past: depends on the past and on the record of i only
   - a release, on any set of people           release P past who, a density of the next output
   - the odometer, the filter                  odometer, admitted
   - with person i, without person i           with_person, without_person: the others are whoever the filter
                                               admits, in both. They are the same for the same past,
                                               as costs and budgets are the same functions in both
   - pure, Renyi costs for every set of        pure_cost, renyi_cost; of a divergence at most c, in the form
     other people                              "integral of p^a q^(1-a) at most exp((a - 1) c)"
   - all k outputs together                    joint: the product of the densities, each given its past
   - exactly k releases                        "at most k": add some of cost 0 (leaving_out_is_free)

   Assumed: budgets are at least 0, densities are positive, and (Renyi) integrate to 1, and the integrals
   exist; the divergence of all outputs is the integral over the last output, then over the one before, and
   so on. Not proven: Gaussian costs. *)

Require Import FunctionalExtensionality List Bool.
Import ListNotations.
From Book Require Import Vectors Integral.

(* --- definitions ------------------------------------------------------------------------------ *)

Record process (X : Type) := {
  budget : nat -> R;
  cost : nat -> list X -> R;
  release : list X -> (nat -> bool) -> X -> R
}.

Arguments budget {X}.
Arguments cost {X}.
Arguments release {X}.

(* What person i has paid after the outputs of the past. *)
Fixpoint odometer {X} (P : process X) (i : nat) (past : list X) : R :=
  match past with
  | [] => 0
  | _ :: earlier =>
      let paid := odometer P i earlier in
      if Rle_dec (paid + cost P i earlier) (budget P i) then paid + cost P i earlier else paid
  end.

Definition admitted {X} (P : process X) (past : list X) (i : nat) : bool :=
  if Rle_dec (odometer P i past + cost P i past) (budget P i) then true else false.

(* The filter admits whoever can pay, not fewer. *)
Lemma who_can_pay_is_admitted {X} (P : process X) past i :
  admitted P past i = true <-> odometer P i past + cost P i past <= budget P i.
Proof.
  unfold admitted.
  destruct (Rle_dec (odometer P i past + cost P i past) (budget P i)); split; intros;
    auto; congruence || contradiction.
Qed.

(* The set who, and person i; the set who, but not person i. *)
Definition add (i : nat) (who : nat -> bool) : nat -> bool := fun j => orb (Nat.eqb j i) (who j).
Definition drop (i : nat) (who : nat -> bool) : nat -> bool :=
  fun j => andb (negb (Nat.eqb j i)) (who j).

Definition with_person {X} (P : process X) (past : list X) : X -> R :=
  release P past (admitted P past).
Definition without_person {X} (P : process X) (i : nat) (past : list X) : X -> R :=
  release P past (drop i (admitted P past)).

(* The density of all outputs. *)
Fixpoint joint {X} (next : list X -> X -> R) (outputs : list X) : R :=
  match outputs with
  | [] => 1
  | o :: earlier => joint next earlier * next earlier o
  end.

Definition positive {X} (P : process X) : Prop := forall past who o, 0 < release P past who o.

Definition pure_cost {X} (P : process X) (i : nat) : Prop :=
  forall past who o,
    0 <= cost P i past /\
    release P past (add i who) o <= exp (cost P i past) * release P past (drop i who) o /\
    release P past (drop i who) o <= exp (cost P i past) * release P past (add i who) o.

(* The definition is neither too narrow nor too wide: a release that leaves person i out costs 0, and no
   cost is below 0. *)
Lemma leaving_out_is_free {X} (P : process X) i :
  (forall past, cost P i past = 0) ->
  (forall past who, release P past (add i who) = release P past (drop i who)) -> pure_cost P i.
Proof. intros C E past who o. rewrite C, E, exp_0. lra. Qed.

Lemma no_cost_below_zero {X} (P : process X) i past (o : X) : pure_cost P i -> 0 <= cost P i past.
Proof. intros C. destruct (C past (fun _ => true) o) as [A _]. exact A. Qed.

(* p^a q^(1 - a), under the integral of the Renyi divergence of order a. *)
Definition renyi_term {X} (a : R) (p q : X -> R) (o : X) : R :=
  Rpower (p o) a * Rpower (q o) (1 - a).

Definition renyi_cost {X} (I : integral X) (a : R) (P : process X) (i : nat) : Prop :=
  forall past who,
    0 <= cost P i past /\
    value I (renyi_term a (release P past (add i who)) (release P past (drop i who)))
      <= exp ((a - 1) * cost P i past) /\
    value I (renyi_term a (release P past (drop i who)) (release P past (add i who)))
      <= exp ((a - 1) * cost P i past).

(* The integral of F over k more outputs after the past. *)
Fixpoint iterated {X} (I : integral X) (k : nat) (F : list X -> R) (past : list X) : R :=
  match k with
  | O => F past
  | S k => value I (fun o => iterated I k F (o :: past))
  end.

(* --- nobody pays more than their budget ------------------------------------------------------- *)

Theorem nobody_exceeds {X} (P : process X) i past :
  0 <= budget P i -> odometer P i past <= budget P i.
Proof.
  intros B. induction past as [| o earlier IH]; simpl; auto.
  destruct (Rle_dec (odometer P i earlier + cost P i earlier) (budget P i)); auto.
Qed.

(* What person i pays for the next release. *)
Definition payment {X} (P : process X) (i : nat) (past : list X) : R :=
  if admitted P past i then cost P i past else 0.

Lemma odometer_grows {X} (P : process X) i o past :
  odometer P i (o :: past) = odometer P i past + payment P i past.
Proof. unfold payment, admitted. simpl. destruct (Rle_dec _ _); lra. Qed.

Lemma drop_add i who : drop i (add i who) = drop i who.
Proof. apply functional_extensionality; intros j. unfold drop, add. destruct (Nat.eqb j i); auto. Qed.

Lemma add_admitted {X} (P : process X) past i :
  admitted P past i = true -> add i (admitted P past) = admitted P past.
Proof.
  intros A. apply functional_extensionality; intros j. unfold add.
  destruct (Nat.eqb_spec j i) as [-> | ne]; auto.
Qed.

Lemma drop_left_out {X} (P : process X) past i :
  admitted P past i = false -> drop i (admitted P past) = admitted P past.
Proof.
  intros A. apply functional_extensionality; intros j. unfold drop.
  destruct (Nat.eqb_spec j i) as [-> | ne]; auto.
Qed.

Lemma joint_pos {X} (next : list X -> X -> R) path :
  (forall past o, 0 < next past o) -> 0 < joint next path.
Proof. intros H. induction path; simpl; [lra | apply Rmult_lt_0_compat; auto]. Qed.

(* --- pure costs ------------------------------------------------------------------------------- *)

Lemma joint_ratio {X} (P : process X) (p q : list X -> X -> R) i path :
  (forall past o, 0 < p past o) -> (forall past o, 0 < q past o) ->
  (forall past o, p past o <= exp (payment P i past) * q past o) ->
  joint p path <= exp (odometer P i path) * joint q path.
Proof.
  intros Pp Qp H. induction path as [| o earlier IH]; [simpl; rewrite exp_0; lra |].
  rewrite odometer_grows, exp_plus. simpl joint.
  assert (A := joint_pos p earlier Pp). specialize (Pp earlier o). specialize (H earlier o).
  replace (exp (odometer P i earlier) * exp (payment P i earlier) * (joint q earlier * q earlier o))
    with (exp (odometer P i earlier) * joint q earlier * (exp (payment P i earlier) * q earlier o)) by ring.
  apply Rmult_le_compat; lra.
Qed.

Lemma one_release {X} (P : process X) i past o :
  pure_cost P i ->
  with_person P past o <= exp (payment P i past) * without_person P i past o /\
  without_person P i past o <= exp (payment P i past) * with_person P past o.
Proof.
  intros C. unfold with_person, without_person, payment. destruct (admitted P past i) eqn:A.
  - destruct (C past (admitted P past) o) as (_ & H1 & H2). rewrite add_admitted in H1, H2; auto.
  - rewrite drop_left_out, exp_0 by auto. lra.
Qed.

Theorem filter_pure_densities {X} (P : process X) i path :
  0 <= budget P i -> positive P -> pure_cost P i ->
  joint (with_person P) path <= exp (budget P i) * joint (without_person P i) path /\
  joint (without_person P i) path <= exp (budget P i) * joint (with_person P) path.
Proof.
  intros B Pos C. assert (E := exp_monotone _ _ (nobody_exceeds P i path B)).
  assert (W : forall past o, 0 < with_person P past o) by (intros; apply Pos).
  assert (V : forall past o, 0 < without_person P i past o) by (intros; apply Pos).
  split.
  - eapply Rle_trans; [apply (joint_ratio P (with_person P) (without_person P i) i path W V) |].
    + intros; apply one_release; auto.
    + apply Rmult_le_compat_r; auto. apply Rlt_le, joint_pos; auto.
  - eapply Rle_trans; [apply (joint_ratio P (without_person P i) (with_person P) i path V W) |].
    + intros; apply one_release; auto.
    + apply Rmult_le_compat_r; auto. apply Rlt_le, joint_pos; auto.
Qed.

(* The same for every set of outputs, under any integral over all outputs together. *)
Theorem filter_pure {X} (P : process X) i (I : integral (list X)) S :
  0 <= budget P i -> positive P -> pure_cost P i -> event S ->
  integrable I (fun path => S path * joint (with_person P) path) ->
  integrable I (fun path => S path * joint (without_person P i) path) ->
  Pr I (joint (with_person P)) S <= exp (budget P i) * Pr I (joint (without_person P i)) S /\
  Pr I (joint (without_person P i)) S <= exp (budget P i) * Pr I (joint (with_person P)) S.
Proof.
  intros B Pos C E I1 I2. split; apply density_ratio; auto; intros; apply filter_pure_densities; auto.
Qed.

(* --- Renyi costs ------------------------------------------------------------------------------ *)

Lemma renyi_term_pos {X} a (p q : X -> R) o : 0 < renyi_term a p q o.
Proof. apply Rmult_lt_0_compat; apply exp_pos. Qed.

Lemma renyi_term_next {X} a (p q : list X -> X -> R) o past :
  (forall past o, 0 < p past o) -> (forall past o, 0 < q past o) ->
  renyi_term a (joint p) (joint q) (o :: past) =
  renyi_term a (joint p) (joint q) past * renyi_term a (p past) (q past) o.
Proof.
  intros Pp Qp. unfold renyi_term. simpl joint.
  rewrite <- !Rpower_mult_distr by (auto using joint_pos). ring.
Qed.

(* All integrals of the divergence of k outputs exist. *)
Definition integrals_exist {X} (I : integral X) (a : R) (p q : list X -> X -> R) : Prop :=
  (forall past, integrable I (renyi_term a (p past) (q past))) /\
  (forall k past,
    integrable I (fun o => iterated I k (renyi_term a (joint p) (joint q)) (o :: past))).

Lemma integrals_of_sums_exist {X} (I : integral X) a p q :
  (forall f, integrable I f) -> integrals_exist I a p q.
Proof. split; auto. Qed.

Lemma iterated_bound {X} (I : integral X) a (P : process X) i (p q : list X -> X -> R) :
  1 < a -> (forall past o, 0 < p past o) -> (forall past o, 0 < q past o) -> 0 <= budget P i ->
  integrals_exist I a p q ->
  (forall past, value I (renyi_term a (p past) (q past)) <= exp ((a - 1) * payment P i past)) ->
  forall k past, iterated I k (renyi_term a (joint p) (joint q)) past <=
    renyi_term a (joint p) (joint q) past * exp ((a - 1) * (budget P i - odometer P i past)).
Proof.
  intros A Pp Qp B [Ex1 Ex2] H k. induction k as [| k IH]; intros past; simpl.
  - assert (N := nobody_exceeds P i past B).
    assert (E : 1 <= exp ((a - 1) * (budget P i - odometer P i past)))
      by (eapply Rle_trans; [| apply exp_ineq1_le]; nra).
    assert (T := renyi_term_pos a (joint p) (joint q) past). nra.
  - set (F := renyi_term a (joint p) (joint q)) in *. set (f := renyi_term a (p past) (q past)).
    set (after := exp ((a - 1) * (budget P i - (odometer P i past + payment P i past)))).
    destruct (homogeneous I (F past * after) f (Ex1 past)) as [Ig V].
    apply Rle_trans with (value I (fun o => F past * after * f o)).
    + apply monotone; auto. intros o. eapply Rle_trans; [apply IH |].
      rewrite odometer_grows. fold after. unfold F, f. rewrite renyi_term_next by auto. lra.
    + rewrite V, Rmult_assoc. apply Rmult_le_compat_l; [apply Rlt_le, renyi_term_pos |].
      apply Rle_trans with (after * exp ((a - 1) * payment P i past)).
      * apply Rmult_le_compat_l; [apply Rlt_le, exp_pos | apply H].
      * unfold after. rewrite <- exp_plus. right. f_equal. ring.
Qed.

Lemma same_density {X} a (p : X -> R) o : 0 < p o -> renyi_term a p p o = p o.
Proof.
  intros H. unfold renyi_term. rewrite <- Rpower_plus. replace (a + (1 - a)) with 1 by ring.
  apply Rpower_1; auto.
Qed.

(* As for pure costs. *)
Lemma leaving_out_is_free_renyi {X} (I : integral X) a (P : process X) i :
  positive P -> (forall past who, value I (release P past who) = 1) ->
  (forall past, cost P i past = 0) ->
  (forall past who, release P past (add i who) = release P past (drop i who)) ->
  renyi_cost I a P i.
Proof.
  intros Pos One C E past who. rewrite C, E, Rmult_0_r, exp_0.
  replace (renyi_term a (release P past (drop i who)) (release P past (drop i who)))
    with (release P past (drop i who)); [rewrite One; lra |].
  apply functional_extensionality; intros o. symmetry; apply same_density, Pos.
Qed.

Lemma no_renyi_cost_below_zero {X} (I : integral X) a (P : process X) i past :
  renyi_cost I a P i -> 0 <= cost P i past.
Proof. intros C. destruct (C past (fun _ => true)) as [A _]. exact A. Qed.

(* The divergence of order a of k outputs is at most the budget, in both directions. *)
Theorem filter_renyi {X} (I : integral X) a (P : process X) i k :
  1 < a -> 0 <= budget P i -> positive P ->
  (forall past who, value I (release P past who) = 1) -> renyi_cost I a P i ->
  integrals_exist I a (with_person P) (without_person P i) ->
  integrals_exist I a (without_person P i) (with_person P) ->
  iterated I k (renyi_term a (joint (with_person P)) (joint (without_person P i))) []
    <= exp ((a - 1) * budget P i) /\
  iterated I k (renyi_term a (joint (without_person P i)) (joint (with_person P))) []
    <= exp ((a - 1) * budget P i).
Proof.
  intros A B Pos One C Ex Ex'.
  assert (start : forall p q : list X -> X -> R, renyi_term a (joint p) (joint q) [] = 1).
  { intros. unfold renyi_term; simpl. unfold Rpower. rewrite ln_1, !Rmult_0_r, exp_0. ring. }
  assert (out : forall past, admitted P past i = false ->
    value I (renyi_term a (with_person P past) (with_person P past)) <= exp ((a - 1) * 0)).
  { intros past _. rewrite Rmult_0_r, exp_0. right. rewrite <- (One past (admitted P past)). f_equal.
    apply functional_extensionality; intros o. apply same_density, Pos. }
  split.
  - eapply Rle_trans; [apply (iterated_bound I a P i) |]; auto; try (intros; apply Pos; fail).
    + intros past. unfold payment. destruct (admitted P past i) eqn:E.
      * destruct (C past (admitted P past)) as (_ & H & _). rewrite add_admitted in H by auto. exact H.
      * unfold without_person. rewrite drop_left_out by auto. exact (out past E).
    + rewrite start. simpl odometer. rewrite Rminus_0_r. lra.
  - eapply Rle_trans; [apply (iterated_bound I a P i) |]; auto; try (intros; apply Pos; fail).
    + intros past. unfold payment. destruct (admitted P past i) eqn:E.
      * destruct (C past (admitted P past)) as (_ & _ & H). rewrite add_admitted in H by auto. exact H.
      * unfold without_person. rewrite drop_left_out by auto. exact (out past E).
    + rewrite start. simpl odometer. rewrite Rminus_0_r. lra.
Qed.
