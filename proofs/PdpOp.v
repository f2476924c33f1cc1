(* lem-loss-ratio, thm-pdp-op: PDP-OP keeps every budget.

   In words. Noise with a density in proportion to exp(-eta |z|) around two centers gives densities
   whose ratio has a logarithm of at most eta times the distance of the centers, and this is attained.
   PDP-OP gives person i the weight eps_i / sum eps and takes eta = sum eps / C, where C > 0 is such
   that replacing the record of person i moves the minimizer by at most w_i C. Then it is
   (eps_1, ..., eps_n)-personalized differentially private.

   The box and this file:
   - the loss, its minimizer, neighbors        as in Sensitivity.v
   - weights, rate                             weight, rate
   - C, any constant                           C > 0 with all moves at most w_i C
   - the published C                           constant d lambda (norm_bound d lambda)
   - the density of center + Z                 density: that of Z, shifted; K is the normalizing constant
   - Pr[theta + Z in S]                        Pr_release: the integral over z of the indicator of S at
                                               theta + z times the density of Z
   - S, any set                                an indicator function; its products with the densities
                                               are integrable
   - the integral over R^d                     any one that respects order and factors (Integral.v) and
                                               does not change under shifts

   Assumed: lem-gamma-radius. The algorithm draws a radius and a direction; that their product has a
   density in proportion to exp(-eta |z|) is not proven here. *)

Require Import FunctionalExtensionality.
From Book Require Import Vectors Integral Sensitivity.

(* --- definitions ------------------------------------------------------------------------------ *)

(* The density at o of center + Z, where Z has the density K exp(-eta |z|). *)
Definition density (d : nat) (eta K : R) (center o : vector) : R :=
  K * exp (- eta * norm d (minus o center)).

Definition weight (n : nat) (eps : nat -> R) (i : nat) : R := eps i / sum n eps.

Definition rate (n : nat) (eps : nat -> R) (C : R) : R := sum n eps / C.

(* Replacing the record of any person i moves the minimizer by at most w_i C. *)
Definition bounds_moves (n d : nat) (w : nat -> R) (lambda C : R) : Prop :=
  forall i m, (i < n)%nat -> moves n d w lambda i m -> m <= w i * C.

Definition shift_invariant (I : integral vector) : Prop :=
  forall c f, integrable I f ->
    integrable I (fun z => f (plus c z)) /\ value I (fun z => f (plus c z)) = value I f.

(* The probability that center + Z lies in S. *)
Definition Pr_release (d : nat) (eta K : R) (I : integral vector) (center : vector)
    (S : vector -> R) : R :=
  value I (fun z => S (plus center z) * density d eta K zero z).

(* --- the ratio of two densities --------------------------------------------------------------- *)

Lemma log_ratio d eta K center center' o :
  0 < K ->
  ln (density d eta K center o / density d eta K center' o) =
  eta * (norm d (minus o center') - norm d (minus o center)).
Proof.
  intros P. unfold density, Rdiv. assert (E := exp_pos (- eta * norm d (minus o center'))).
  rewrite Rinv_mult, <- exp_Ropp.
  replace (K * exp (- eta * norm d (minus o center)) * (/ K * exp (- (- eta * norm d (minus o center')))))
    with (exp (- eta * norm d (minus o center)) * exp (- (- eta * norm d (minus o center')))) by (field; lra).
  rewrite <- exp_plus, ln_exp. ring.
Qed.

Theorem loss_ratio d eta K center center' o :
  0 < eta -> 0 < K ->
  Rabs (ln (density d eta K center o / density d eta K center' o)) <=
    eta * norm d (minus center center').
Proof.
  intros He P. rewrite log_ratio by auto.
  assert (A := norm_difference d o center center'). assert (B := norm_difference d o center' center).
  rewrite (norm_minus_sym d center' center) in B.
  rewrite Rabs_mult, (Rabs_pos_eq eta) by lra. apply Rmult_le_compat_l; [lra |].
  apply Rabs_le; lra.
Qed.

(* Equality at every output on the line through the centers, beyond center. *)
Theorem loss_ratio_attained d eta K center center' s :
  0 < eta -> 0 < K -> 0 <= s ->
  let o := plus center (scale s (minus center center')) in
  ln (density d eta K center o / density d eta K center' o) = eta * norm d (minus center center').
Proof.
  intros He P Hs o. rewrite log_ratio by auto.
  rewrite (norm_ext d (minus o center') (scale (1 + s) (minus center center')))
    by (intros; unfold o, minus, plus, scale; ring).
  rewrite (norm_ext d (minus o center) (scale s (minus center center')))
    by (intros; unfold o, minus, plus, scale; ring).
  rewrite !norm_scale, !Rabs_pos_eq by lra. ring.
Qed.

Lemma density_shift d eta K center center' o L :
  0 < eta -> 0 < K -> eta * norm d (minus center center') <= L ->
  density d eta K center o <= exp L * density d eta K center' o.
Proof.
  intros He P H. unfold density.
  assert (A := norm_difference d o center center').
  replace (exp L * (K * exp (- eta * norm d (minus o center'))))
    with (K * exp (L + - eta * norm d (minus o center'))) by (rewrite exp_plus; ring).
  apply Rmult_le_compat_l; [lra |]. apply exp_monotone. nra.
Qed.

(* --- PDP-OP ----------------------------------------------------------------------------------- *)

Lemma weights_sum_to_one n eps :
  (0 < n)%nat -> all_positive n eps -> is_weighting n (weight n eps).
Proof.
  intros Hn P. assert (S := sum_pos n eps Hn P). split.
  - intros j Hj. apply Rlt_le, Rdiv_lt_0_compat; auto.
  - rewrite (sum_ext n _ (fun j => / sum n eps * eps j)) by (intros; unfold weight; field; lra).
    rewrite sum_scale. field; lra.
Qed.

(* Rate times shift is the budget. *)
Lemma loss_is_budget n eps C i :
  0 < sum n eps -> 0 < C -> rate n eps C * (weight n eps i * C) = eps i.
Proof. intros S P. unfold rate, weight. field; lra. Qed.

Theorem pdp_op_densities n d lambda eps C K i D D' theta theta' o :
  all_positive n eps -> 0 < C -> 0 < K -> (i < n)%nat ->
  bounds_moves n d (weight n eps) lambda C ->
  in_domain n d D -> in_domain n d D' -> neighbors n d i D D' ->
  minimizer n d (weight n eps) lambda D theta -> minimizer n d (weight n eps) lambda D' theta' ->
  density d (rate n eps C) K theta o <= exp (eps i) * density d (rate n eps C) K theta' o.
Proof.
  intros P Cp Kp Hi Mv dom dom' Nb M M'.
  assert (S : 0 < sum n eps) by (apply sum_pos; auto; lia).
  assert (R : 0 < rate n eps C) by (apply Rdiv_lt_0_compat; auto).
  apply density_shift; auto. rewrite <- (loss_is_budget n eps C i) by auto.
  apply Rmult_le_compat_l; [lra |]. apply Mv; auto.
  exists D, D', theta, theta'; auto 10.
Qed.

Theorem pdp_op_private n d lambda eps C K (I : integral vector) i D D' theta theta' S :
  all_positive n eps -> 0 < C -> 0 < K -> (i < n)%nat ->
  bounds_moves n d (weight n eps) lambda C ->
  in_domain n d D -> in_domain n d D' -> neighbors n d i D D' ->
  minimizer n d (weight n eps) lambda D theta -> minimizer n d (weight n eps) lambda D' theta' ->
  shift_invariant I -> event S ->
  integrable I (fun o => S o * density d (rate n eps C) K theta o) ->
  integrable I (fun o => S o * density d (rate n eps C) K theta' o) ->
  Pr_release d (rate n eps C) K I theta S <=
    exp (eps i) * Pr_release d (rate n eps C) K I theta' S.
Proof.
  intros P Cp Kp Hi Mv dom dom' Nb M M' Sh E I1 I2.
  assert (shifted : forall center, integrable I (fun o => S o * density d (rate n eps C) K center o) ->
    Pr_release d (rate n eps C) K I center S = Pr I (density d (rate n eps C) K center) S).
  { intros center Ic. destruct (Sh center _ Ic) as [_ V]. unfold Pr. rewrite <- V. unfold Pr_release. f_equal.
    apply functional_extensionality; intros z. unfold density. do 4 f_equal.
    apply norm_ext; intros; unfold minus, plus, zero; ring. }
  rewrite !shifted by auto. apply density_ratio; auto.
  intros o. apply pdp_op_densities with (lambda := lambda) (D := D) (D' := D'); auto.
Qed.

(* The published constant is one of the constants C. *)
Theorem published_constant_bounds_moves n d lambda w :
  is_weighting n w -> 0 < lambda ->
  bounds_moves n d w lambda (constant d lambda (norm_bound d lambda)).
Proof.
  intros W L i m Hi (D & D' & theta & theta' & dom & dom' & Nb & M & M' & ->).
  apply sensitivity_published with (n := n) (D := D) (D' := D'); auto.
Qed.

Lemma published_constant_positive d lambda :
  (0 < d)%nat -> 0 < lambda -> 0 < constant d lambda (norm_bound d lambda).
Proof.
  intros Hd L. assert (A : 0 < sqrt (INR d)) by (apply sqrt_lt_R0, lt_0_INR; auto).
  assert (B : 0 < norm_bound d lambda).
  { apply Rmin_glb_lt; apply Rdiv_lt_0_compat; auto; [lra | apply sqrt_lt_R0; auto]. }
  unfold constant. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra |].
  assert (0 < sqrt (INR d) * norm_bound d lambda) by (apply Rmult_lt_0_compat; auto). lra.
Qed.

Theorem pdp_op_published n d lambda eps K (I : integral vector) i D D' theta theta' S :
  let C := constant d lambda (norm_bound d lambda) in
  all_positive n eps -> 0 < lambda -> (0 < d)%nat -> 0 < K -> (i < n)%nat ->
  in_domain n d D -> in_domain n d D' -> neighbors n d i D D' ->
  minimizer n d (weight n eps) lambda D theta -> minimizer n d (weight n eps) lambda D' theta' ->
  shift_invariant I -> event S ->
  integrable I (fun o => S o * density d (rate n eps C) K theta o) ->
  integrable I (fun o => S o * density d (rate n eps C) K theta' o) ->
  Pr_release d (rate n eps C) K I theta S <=
    exp (eps i) * Pr_release d (rate n eps C) K I theta' S.
Proof.
  intros C P L Hd Kp Hi dom dom' Nb M M' Sh E I1 I2.
  apply pdp_op_private with (lambda := lambda) (D := D) (D' := D'); auto.
  - apply published_constant_positive; auto.
  - apply published_constant_bounds_moves; auto. apply weights_sum_to_one; auto; lia.
Qed.
