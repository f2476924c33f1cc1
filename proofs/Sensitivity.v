(* lem-norm-sqrt, lem-norm-dim, lem-stability, thm-sensitivity: how far one record moves a ridge
   regression.

   In words. On rows in [0,1]^d and labels in [-1,1] the minimizer of the weighted loss with the
   penalty lambda is at most 1/sqrt(lambda) and at most sqrt(d)/lambda long. If it is at most B long
   on every data set, then replacing the record of person i moves it by at most w_i C, where
   C = (2 sqrt(d) / lambda) (1 + sqrt(d) B). The last step is a lemma on strongly convex functions.

   The box and this file:
   - n people, d features                      n, d : nat, any
   - rows x_j in [0,1]^d, labels in [-1,1]     in_domain
   - weights w_j >= 0 that sum to 1            is_weighting (lambda > 0 is a hypothesis of its own)
   - the loss L_w(theta; D)                    loss
   - the minimizer                             minimizer: a theta whose loss no other is below;
                                               minimizer_exists and _unique: there is exactly one
   - neighbors D ~_i D'                        neighbors: equal records but for that of i
   - strongly convex                           strongly_convex: the inequality of convexity with the
                                               square subtracted, multiplied out
   - g differentiable at theta_1               has_gradient: the derivative along every line through
                                               theta_1; less than the box asks
   - Delta_i, a supremum                       a least upper bound; sensitivity_supremum_exists: there is
                                               one *)

Require Import FunctionalExtensionality.
From Book Require Import Vectors.

(* --- definitions ------------------------------------------------------------------------------ *)

(* A data set: the row and the label of each person. *)
Record data := { row : nat -> vector; label : nat -> R }.

Definition in_domain (n d : nat) (D : data) : Prop :=
  (forall j k, (j < n)%nat -> (k < d)%nat -> 0 <= row D j k <= 1) /\
  (forall j, (j < n)%nat -> -1 <= label D j <= 1).

Definition is_weighting (n : nat) (w : nat -> R) : Prop :=
  (forall j, (j < n)%nat -> 0 <= w j) /\ sum n w = 1.

Definition residual (d : nat) (D : data) (j : nat) (theta : vector) : R :=
  label D j - dot d (row D j) theta.

Definition loss (n d : nat) (w : nat -> R) (lambda : R) (D : data) (theta : vector) : R :=
  sum n (fun j => w j * (residual d D j theta)^2) + lambda * (norm d theta)^2.

Definition minimizes (f : vector -> R) (theta : vector) : Prop := forall other, f theta <= f other.

Definition minimizer (n d : nat) (w : nat -> R) (lambda : R) (D : data) : vector -> Prop :=
  minimizes (loss n d w lambda D).

(* The records of D and D' are equal but for that of person i. *)
Definition neighbors (n d i : nat) (D D' : data) : Prop :=
  forall j, (j < n)%nat -> j <> i ->
    label D j = label D' j /\ forall k, (k < d)%nat -> row D j k = row D' j k.

(* G minus gamma/2 times the squared length is convex; the point between x and y is x + t (y - x). *)
Definition strongly_convex (d : nat) (gamma : R) (G : vector -> R) : Prop :=
  forall x y t, 0 < t < 1 ->
    G (plus x (scale t (minus y x))) <=
    (1 - t) * G x + t * G y - gamma / 2 * t * (1 - t) * (norm d (minus x y))^2.

(* Along every line through theta the slope of g is the inner product with v. *)
Definition has_gradient (d : nat) (g : vector -> R) (theta v : vector) : Prop :=
  forall u, derivable_pt_lim (fun t => g (plus theta (scale t u))) 0 (dot d v u).

(* The definitions are not too narrow: all records of the box are in the domain, and a data set with the
   record of person i replaced by any other is a neighbor. *)
Lemma whole_domain n d D :
  (forall j k, 0 <= row D j k <= 1) -> (forall j, -1 <= label D j <= 1) -> in_domain n d D.
Proof. split; auto. Qed.

Lemma record_replaced n d i D x y :
  neighbors n d i D {| row := fun j => if Nat.eqb j i then x else row D j;
                       label := fun j => if Nat.eqb j i then y else label D j |}.
Proof. intros j _ ne. simpl. rewrite (proj2 (Nat.eqb_neq j i) ne). auto. Qed.

(* The published constant, for a bound B of the minimizer, and the published bound. *)
Definition constant (d : nat) (lambda B : R) : R :=
  2 * sqrt (INR d) / lambda * (1 + sqrt (INR d) * B).

Definition norm_bound (d : nat) (lambda : R) : R :=
  Rmin (1 / sqrt lambda) (sqrt (INR d) / lambda).

(* --- the length of the minimizer -------------------------------------------------------------- *)

Lemma square_norm d x : (norm d x)^2 = dot d x x.
Proof. rewrite <- norm_square; ring. Qed.

Theorem minimizer_norm_sqrt n d w lambda D theta :
  is_weighting n w -> 0 < lambda -> in_domain n d D -> minimizer n d w lambda D theta ->
  norm d theta <= 1 / sqrt lambda.
Proof.
  intros [W S] L [_ Y] M.
  assert (A : lambda * (norm d theta)^2 <= 1).
  { specialize (M zero). unfold loss in M. rewrite (square_norm d zero), dot_zero in M.
    assert (0 <= sum n (fun j => w j * (residual d D j theta)^2)).
    { apply sum_nonneg; intros j Hj. specialize (W j Hj). apply Rmult_le_pos; [auto | apply pow2_ge_0]. }
    assert (sum n (fun j => w j * (residual d D j zero)^2) <= sum n w).
    { apply sum_le; intros j Hj. unfold residual; rewrite dot_zero.
      specialize (W j Hj). destruct (Y j Hj) as [lo hi].
      rewrite Rminus_0_r. assert ((label D j)^2 <= 1) by nra. nra. }
    lra. }
  assert (P := sqrt_lt_R0 lambda L). assert (Q := sqrt_sqrt lambda (Rlt_le _ _ L)).
  assert (N := norm_nonneg d theta).
  apply Rmult_le_reg_r with (sqrt lambda); auto.
  replace (1 / sqrt lambda * sqrt lambda) with 1 by (field; lra).
  apply Rsqr_incr_0_var; unfold Rsqr; nra.
Qed.

Lemma row_norm n d D j : in_domain n d D -> (j < n)%nat -> norm d (row D j) <= sqrt (INR d).
Proof.
  intros [X _] Hj. apply sqrt_le_1_alt.
  rewrite <- (Rmult_1_r (INR d)), <- (sum_const d 1).
  apply sum_le; intros k Hk. destruct (X j k Hj Hk). nra.
Qed.

Lemma residual_line d D j theta u t :
  residual d D j (plus theta (scale t u)) = residual d D j theta - t * dot d (row D j) u.
Proof. unfold residual. rewrite dot_plus, dot_scale. ring. Qed.

(* The loss on a line is a parabola. *)
Lemma loss_line n d w lambda D theta u t :
  loss n d w lambda D (plus theta (scale t u)) =
  loss n d w lambda D theta
  + 2 * t * (lambda * dot d theta u
      - sum n (fun j => w j * (residual d D j theta * dot d (row D j) u)))
  + t^2 * (sum n (fun j => w j * (dot d (row D j) u)^2) + lambda * dot d u u).
Proof.
  unfold loss. rewrite !square_norm, !dot_plus, !dot_scale, !(dot_sym d (plus _ _)).
  rewrite !dot_plus, !dot_scale, (dot_sym d u theta).
  rewrite (sum_ext n (fun j => w j * (residual d D j (plus theta (scale t u)))^2)
    (fun j => w j * (residual d D j theta)^2
      - 2 * t * (w j * (residual d D j theta * dot d (row D j) u))
      + t^2 * (w j * (dot d (row D j) u)^2))).
  - rewrite sum_plus, sum_minus, !sum_scale. ring.
  - intros; rewrite residual_line; ring.
Qed.

Lemma parabola_slope_zero b c : (forall t, 0 <= 2 * t * b + t^2 * c) -> b = 0.
Proof.
  intros H. destruct (Req_dec b 0) as [E | ne]; auto. exfalso.
  assert (K := Rabs_pos c). assert (A := Rle_abs c).
  specialize (H (- b / (Rabs c + 1))).
  replace (2 * (- b / (Rabs c + 1)) * b + (- b / (Rabs c + 1))^2 * c)
    with (b * b * (c - 2 * (Rabs c + 1)) / ((Rabs c + 1) * (Rabs c + 1))) in H by (field; lra).
  assert (0 < b * b) by nra.
  assert (0 < / ((Rabs c + 1) * (Rabs c + 1))) by (apply Rinv_0_lt_compat; nra).
  assert (b * b * (c - 2 * (Rabs c + 1)) < 0) by nra. unfold Rdiv in H. nra.
Qed.

(* The normal equations, against any direction u. *)
Lemma normal_equations n d w lambda D theta u :
  minimizer n d w lambda D theta ->
  lambda * dot d theta u = sum n (fun j => w j * (residual d D j theta * dot d (row D j) u)).
Proof.
  intros M. apply Rminus_diag_uniq.
  apply parabola_slope_zero with (c := sum n (fun j => w j * (dot d (row D j) u)^2) + lambda * dot d u u).
  intros t. assert (H := M (plus theta (scale t u))). rewrite loss_line in H. lra.
Qed.

Theorem minimizer_norm_dim n d w lambda D theta :
  is_weighting n w -> 0 < lambda -> in_domain n d D -> minimizer n d w lambda D theta ->
  norm d theta <= sqrt (INR d) / lambda.
Proof.
  intros [W S] L dom M. assert (Q := sqrt_pos (INR d)). assert (N := norm_nonneg d theta).
  (* along the minimizer itself: a label is at most 1, a row at most sqrt d long *)
  assert (E := normal_equations n d w lambda D theta theta M). rewrite <- norm_square in E.
  assert (sum n (fun j => w j * (residual d D j theta * dot d (row D j) theta)) <=
          sum n (fun j => sqrt (INR d) * norm d theta * w j)).
  { apply sum_le; intros j Hj. specialize (W j Hj).
    assert (R := row_norm n d D j dom Hj). destruct dom as [_ Y]. destruct (Y j Hj).
    assert (C := cauchy_schwarz d (row D j) theta).
    assert (Rabs (dot d (row D j) theta) <= sqrt (INR d) * norm d theta).
    { eapply Rle_trans; [apply C |]. apply Rmult_le_compat_r; auto. }
    assert (residual d D j theta * dot d (row D j) theta <= Rabs (dot d (row D j) theta)).
    { unfold residual, Rabs; destruct (Rcase_abs _); nra. }
    nra. }
  rewrite sum_scale, S in H.
  apply Rmult_le_reg_r with lambda; auto.
  replace (sqrt (INR d) / lambda * lambda) with (sqrt (INR d)) by (field; lra).
  destruct (Rle_lt_or_eq_dec 0 _ N) as [P | Z]; [| rewrite <- Z; lra].
  apply Rmult_le_reg_r with (norm d theta); auto. nra.
Qed.

(* --- stability -------------------------------------------------------------------------------- *)

Lemma line_start x u : plus x (scale 0 u) = x.
Proof. apply functional_extensionality; intros; unfold plus, scale; ring. Qed.

Lemma line_end x y : plus x (scale 1 (minus y x)) = y.
Proof. apply functional_extensionality; intros; unfold plus, scale, minus; ring. Qed.

(* A slope that the quotients exceed, but for less and less, is at least that. *)
Lemma slope_at_least f l a :
  derivable_pt_lim f 0 l -> 0 < a ->
  (forall t, 0 < t < 1 -> f 0 + a * t * (1 - t / 2) <= f t) -> a <= l.
Proof.
  intros Df A H. apply Rnot_lt_le; intros lt.
  destruct (Df ((a - l) / 2)) as [delta D]; [lra |]. assert (P := cond_pos delta).
  set (h := Rmin (Rmin (delta / 2) (1 / 2)) ((a - l) / a)).
  assert (0 < (a - l) / a) by (apply Rdiv_lt_0_compat; lra).
  assert (h1 : 0 < h) by (unfold h; repeat apply Rmin_glb_lt; lra).
  assert (h2 : h <= delta / 2) by (unfold h; eapply Rle_trans; [apply Rmin_l | apply Rmin_l]).
  assert (h3 : h <= 1 / 2) by (unfold h; eapply Rle_trans; [apply Rmin_l | apply Rmin_r]).
  assert (h4 : a * h <= a - l).
  { apply Rle_trans with (a * ((a - l) / a)).
    - apply Rmult_le_compat_l; [lra | apply Rmin_r].
    - right; field; lra. }
  clearbody h. specialize (D h ltac:(lra)). rewrite Rabs_pos_eq in D by lra.
  specialize (D ltac:(lra)). rewrite Rplus_0_l in D. apply Rabs_def2 in D.
  specialize (H h ltac:(lra)).
  assert (E : a * (1 - h / 2) <= (f h - f 0) / h).
  { apply Rmult_le_reg_r with h; auto. replace ((f h - f 0) / h * h) with (f h - f 0) by (field; lra). lra. }
  lra.
Qed.

Theorem stability d gamma G g theta1 theta2 v :
  0 < gamma -> strongly_convex d gamma G -> has_gradient d g theta1 v ->
  minimizes (fun theta => G theta + g theta) theta1 -> minimizes G theta2 ->
  norm d (minus theta1 theta2) <= norm d v / gamma.
Proof.
  intros P SC Dg M1 M2. set (N := norm d (minus theta1 theta2)).
  assert (V := norm_nonneg d v). assert (N0 : 0 <= N) by apply norm_nonneg.
  apply Rmult_le_reg_r with gamma; auto. replace (norm d v / gamma * gamma) with (norm d v) by (field; lra).
  destruct (Rle_lt_or_eq_dec 0 N N0) as [Np | Nz]; [| rewrite <- Nz; lra].
  assert (K : 0 < gamma * N^2) by (apply Rmult_lt_0_compat; [auto | apply pow_lt; auto]).
  assert (Gap : G theta2 - G theta1 <= - gamma / 2 * N^2).
  { apply le_epsilon; intros e He.
    (* t close enough to 1 *)
    set (t := 1 - Rmin (1 / 2) (e / (gamma * N^2))).
    assert (0 < e / (gamma * N^2)) by (apply Rdiv_lt_0_compat; lra).
    assert (0 < Rmin (1 / 2) (e / (gamma * N^2))) by (apply Rmin_glb_lt; lra).
    assert (A := Rmin_l (1 / 2) (e / (gamma * N^2))). assert (B := Rmin_r (1 / 2) (e / (gamma * N^2))).
    assert (E : gamma * N^2 * (1 - t) <= e).
    { unfold t. apply Rle_trans with (gamma * N^2 * (e / (gamma * N^2))).
      - apply Rmult_le_compat_l; lra.
      - right; field; lra. }
    assert (t1 : 0 < t < 1) by (unfold t; lra). clearbody t.
    assert (C := SC theta1 theta2 t t1). fold N in C. specialize (M2 (plus theta1 (scale t (minus theta2 theta1)))).
    assert (G theta2 - G theta1 <= - gamma / 2 * t * N^2).
    { apply Rmult_le_reg_l with (1 - t); lra. }
    lra. }
  set (u := minus theta2 theta1).
  assert (S : gamma * N^2 <= dot d v u).
  { apply slope_at_least with (f := fun t => g (plus theta1 (scale t u))); auto.
    intros t Ht. rewrite line_start. assert (C := SC theta1 theta2 t Ht). fold N u in C.
    specialize (M1 (plus theta1 (scale t u))). cbv beta in M1. nra. }
  assert (C := dot_le_norms d v u). unfold u in C at 2. rewrite norm_minus_sym in C. fold N in C.
  apply Rmult_le_reg_r with N; auto. nra.
Qed.

(* --- sensitivity ------------------------------------------------------------------------------ *)

Lemma loss_strongly_convex n d w lambda D :
  is_weighting n w -> 0 < lambda -> strongly_convex d (2 * lambda) (loss n d w lambda D).
Proof.
  intros [W _] L x y t Ht. assert (E := loss_line n d w lambda D x (minus y x)).
  assert (E1 := E 1). rewrite line_end in E1. rewrite (E t), E1, norm_minus_sym, square_norm.
  assert (0 <= sum n (fun j => w j * (dot d (row D j) (minus y x))^2)).
  { apply sum_nonneg; intros j Hj. apply Rmult_le_pos; [auto | apply pow2_ge_0]. }
  assert (0 < t * (1 - t)) by nra. nra.
Qed.

Lemma parabola_slope f a b c :
  (forall t, f t = a + 2 * t * b + t^2 * c) -> derivable_pt_lim f 0 (2 * b).
Proof.
  intros H e He. assert (K := Rabs_pos c).
  assert (P : 0 < e / (Rabs c + 1)) by (apply Rdiv_lt_0_compat; lra).
  exists (mkposreal _ P). simpl. intros h Hh Hd. rewrite !H.
  match goal with |- Rabs ?z < e => replace z with (h * c) by (field; auto) end.
  rewrite Rabs_mult. assert (Q := Rabs_pos h).
  apply Rle_lt_trans with (Rabs h * (Rabs c + 1)); [nra |].
  apply Rlt_le_trans with (e / (Rabs c + 1) * (Rabs c + 1)); [apply Rmult_lt_compat_r; lra |].
  right; field; lra.
Qed.

(* How record i pulls on the minimum. *)
Definition pull (d : nat) (w : nat -> R) (i : nat) (D : data) (theta : vector) : vector :=
  scale (w i * residual d D i theta) (row D i).

Lemma difference_gradient n d w lambda D D' i theta :
  (i < n)%nat -> neighbors n d i D D' ->
  has_gradient d (fun x => loss n d w lambda D x - loss n d w lambda D' x) theta
    (scale 2 (minus (pull d w i D' theta) (pull d w i D theta))).
Proof.
  intros Hi Nb u. rewrite dot_sym, dot_scale, dot_minus. unfold pull. rewrite !dot_scale, !(dot_sym d u).
  apply parabola_slope with
    (a := loss n d w lambda D theta - loss n d w lambda D' theta)
    (c := sum n (fun j => w j * (dot d (row D j) u)^2) - sum n (fun j => w j * (dot d (row D' j) u)^2)).
  intros t. rewrite !loss_line.
  assert (E := sum_change_one n
    (fun j => w j * (residual d D j theta * dot d (row D j) u))
    (fun j => w j * (residual d D' j theta * dot d (row D' j) u)) i Hi).
  cbv beta in E. assert (A := E ltac:(intros j Hj ne; destruct (Nb j Hj ne) as [Y X];
    unfold residual, dot; rewrite Y;
    rewrite !(sum_ext d (fun k => row D j k * _) (fun k => row D' j k * _))
      by (intros; rewrite X; auto); reflexivity)).
  set (S := sum n _) in *. nra.
Qed.

Lemma norm_minus_le d x y : norm d (minus x y) <= norm d x + norm d y.
Proof.
  replace (norm d y) with (norm d (scale (-1) y)) by (rewrite norm_scale, Rabs_left; lra).
  rewrite <- (norm_ext d (plus x (scale (-1) y)) (minus x y)); [apply triangle |].
  intros; unfold plus, scale, minus; ring.
Qed.

Lemma pull_norm n d w D i theta B :
  is_weighting n w -> in_domain n d D -> (i < n)%nat -> norm d theta <= B ->
  norm d (pull d w i D theta) <= w i * (sqrt (INR d) * (1 + sqrt (INR d) * B)).
Proof.
  intros [W _] dom Hi HB. specialize (W i Hi). assert (R := row_norm n d D i dom Hi).
  destruct dom as [_ Y]. destruct (Y i Hi) as [lo hi].
  assert (N := norm_nonneg d theta). assert (X := norm_nonneg d (row D i)).
  assert (C := cauchy_schwarz d (row D i) theta).
  assert (C' : Rabs (dot d (row D i) theta) <= sqrt (INR d) * B)
    by (eapply Rle_trans; [apply C | apply Rmult_le_compat; auto]).
  assert (E : Rabs (residual d D i theta) <= 1 + sqrt (INR d) * B).
  { unfold residual. eapply Rle_trans; [apply Rabs_triang |]. rewrite Rabs_Ropp.
    apply Rplus_le_compat; auto. apply Rabs_le; lra. }
  unfold pull. rewrite norm_scale, Rabs_mult, (Rabs_pos_eq (w i)), Rmult_assoc by auto.
  apply Rmult_le_compat_l; auto. rewrite (Rmult_comm (sqrt (INR d))).
  apply Rmult_le_compat; auto. apply Rabs_pos.
Qed.

Theorem sensitivity n d w lambda B i D D' theta theta' :
  is_weighting n w -> 0 < lambda -> (i < n)%nat ->
  (forall D theta, in_domain n d D -> minimizer n d w lambda D theta -> norm d theta <= B) ->
  in_domain n d D -> in_domain n d D' -> neighbors n d i D D' ->
  minimizer n d w lambda D theta -> minimizer n d w lambda D' theta' ->
  norm d (minus theta theta') <= w i * constant d lambda B.
Proof.
  intros W L Hi HB dom dom' Nb M M'.
  eapply Rle_trans; [apply stability with (gamma := 2 * lambda)
    (G := loss n d w lambda D') (g := fun x => loss n d w lambda D x - loss n d w lambda D' x)
    (v := scale 2 (minus (pull d w i D' theta) (pull d w i D theta))) |]; auto.
  - lra.
  - apply loss_strongly_convex; auto.
  - apply difference_gradient; auto.
  - intros x. specialize (M x). lra.
  - rewrite norm_scale, Rabs_pos_eq by lra.
    assert (P := pull_norm n d w D i theta B W dom Hi (HB D theta dom M)).
    assert (P' := pull_norm n d w D' i theta B W dom' Hi (HB D theta dom M)).
    assert (T := norm_minus_le d (pull d w i D' theta) (pull d w i D theta)).
    unfold constant.
    apply Rmult_le_reg_r with lambda; auto.
    replace (w i * (2 * sqrt (INR d) / lambda * (1 + sqrt (INR d) * B)) * lambda)
      with (2 * (w i * (sqrt (INR d) * (1 + sqrt (INR d) * B)))) by (field; lra).
    replace (2 * norm d (minus (pull d w i D' theta) (pull d w i D theta)) / (2 * lambda) * lambda)
      with (norm d (minus (pull d w i D' theta) (pull d w i D theta))) by (field; lra).
    lra.
Qed.

(* How far replacing the record of person i may move the minimizer. *)
Definition moves (n d : nat) (w : nat -> R) (lambda : R) (i : nat) (m : R) : Prop :=
  exists D D' theta theta',
    in_domain n d D /\ in_domain n d D' /\ neighbors n d i D D' /\
    minimizer n d w lambda D theta /\ minimizer n d w lambda D' theta' /\
    m = norm d (minus theta theta').

(* The same for the supremum Delta_i. *)
Theorem sensitivity_supremum n d w lambda B i Delta :
  is_weighting n w -> 0 < lambda -> (i < n)%nat ->
  (forall D theta, in_domain n d D -> minimizer n d w lambda D theta -> norm d theta <= B) ->
  is_lub (moves n d w lambda i) Delta -> Delta <= w i * constant d lambda B.
Proof.
  intros W L Hi HB [_ least]. apply least.
  intros m (D & D' & theta & theta' & dom & dom' & Nb & M & M' & ->).
  apply sensitivity with (n := n) (D := D) (D' := D'); auto.
Qed.

(* Both lemmas on the norm give the published bound B. *)
Theorem sensitivity_published n d w lambda i D D' theta theta' :
  is_weighting n w -> 0 < lambda -> (i < n)%nat ->
  in_domain n d D -> in_domain n d D' -> neighbors n d i D D' ->
  minimizer n d w lambda D theta -> minimizer n d w lambda D' theta' ->
  norm d (minus theta theta') <= w i * constant d lambda (norm_bound d lambda).
Proof.
  intros W L Hi dom dom' Nb M M'. apply sensitivity with (n := n) (D := D) (D' := D'); auto.
  intros E x domE ME. apply Rmin_glb.
  - apply minimizer_norm_sqrt with (n := n) (w := w) (D := E); auto.
  - apply minimizer_norm_dim with (n := n) (w := w) (D := E); auto.
Qed.

(* A system of linear equations whose quadratic form is at least a times the squared length has a
   solution: eliminate the last unknown. *)
Lemma linear_system d (A : nat -> vector) (b : vector) a :
  0 < a -> (forall u, a * dot d u u <= dot d u (fun i => dot d (A i) u)) ->
  exists x, forall i, (i < d)%nat -> dot d (A i) x = b i.
Proof.
  intros P. revert A b; induction d as [| d IH]; intros A b Q.
  - exists zero; intros; lia.
  - set (with_last := fun (u : vector) s j => if Nat.eqb j d then s else u j).
    assert (below : forall v u s, dot d v (with_last u s) = dot d v u).
    { intros v u s. apply sum_ext; intros j Hj. unfold with_last.
      rewrite (proj2 (Nat.eqb_neq j d)) by lia. auto. }
    assert (last : forall v u s, dot (S d) v (with_last u s) = dot d v u + v d * s).
    { intros v u s. rewrite <- (below v u s). unfold dot; simpl. unfold with_last at 2.
      rewrite Nat.eqb_refl. reflexivity. }
    assert (last_at : forall u s, with_last u s d = s)
      by (intros; unfold with_last; rewrite Nat.eqb_refl; auto).
    assert (form : forall u s, a * (dot d u u + s * s) <=
        dot d u (fun i => dot d (A i) u) + s * dot d u (fun i => A i d) + s * (dot d (A d) u + A d d * s)).
    { intros u s. specialize (Q (with_last u s)).
      rewrite (last _ u s), !(dot_sym _ (with_last u s)), last, !(dot_sym d _ u) in Q.
      rewrite below, last_at in Q.
      rewrite <- (dot_scale d u s), <- dot_plus.
      replace (dot d u (plus (fun i => dot d (A i) u) (scale s (fun i => A i d))))
        with (dot d u (fun i => dot (S d) (A i) (with_last u s))).
      - rewrite (last (A d) u s) in Q. lra.
      - apply sum_ext; intros i Hi. rewrite last. unfold plus, scale; ring. }
    assert (Add : a <= A d d).
    { specialize (form zero 1). assert (Z : forall v, dot d zero v = 0)
        by (intros; rewrite dot_sym; apply dot_zero).
      rewrite !Z, dot_zero in form. lra. }
    destruct (IH (fun i => minus (A i) (scale (A i d / A d d) (A d)))
                 (fun i => b i - A i d / A d d * b d)) as [x X].
    { intros u. specialize (form u (- dot d (A d) u / A d d)).
      replace (dot d u (fun i => dot d (minus (A i) (scale (A i d / A d d) (A d))) u))
        with (dot d u (plus (fun i => dot d (A i) u) (scale (- dot d (A d) u / A d d) (fun i => A i d)))).
      - rewrite dot_plus, dot_scale. replace (dot d (A d) u + A d d * (- dot d (A d) u / A d d)) with 0 in form
          by (field; lra). assert (0 <= (- dot d (A d) u / A d d) * (- dot d (A d) u / A d d)) by nra. nra.
      - apply sum_ext; intros i Hi. rewrite (dot_sym d (minus _ _)), dot_minus, dot_scale.
        rewrite !(dot_sym d u). unfold plus, scale. f_equal. field; lra. }
    exists (with_last x ((b d - dot d (A d) x) / A d d)). intros i Hi. rewrite last.
    destruct (Nat.eq_dec i d) as [-> | ne].
    + field; lra.
    + assert (E := X i ltac:(lia)). rewrite dot_sym, dot_minus, dot_scale, !(dot_sym d x) in E.
      replace (dot d (A i) x) with (b i - A i d / A d d * b d + A i d / A d d * dot d (A d) x) by lra.
      field; lra.
Qed.

Theorem minimizer_exists n d w lambda D :
  is_weighting n w -> 0 < lambda -> exists theta, minimizer n d w lambda D theta.
Proof.
  intros [W _] L.
  set (I := fun i j => if Nat.eqb j i then lambda else 0).
  set (A := fun i : nat => plus (fun j => sum n (fun k => w k * row D k i * row D k j)) (I i)).
  assert (AI : forall i u, (i < d)%nat ->
    dot d (A i) u = sum n (fun k => w k * row D k i * dot d (row D k) u) + lambda * u i).
  { intros i u Hi. unfold A. rewrite dot_sym, dot_plus. f_equal.
    - unfold dot. rewrite (sum_ext d _ (fun j => sum n (fun k => w k * row D k i * (row D k j * u j)))).
      + rewrite sum_swap. apply sum_ext; intros. apply sum_scale.
      + intros. rewrite <- sum_scale. apply sum_ext; intros; ring.
    - assert (E := sum_change_one d (fun j => u j * I i j) (fun _ => 0) i Hi).
      rewrite (sum_zero d (fun _ => 0)) in E by auto. unfold dot. cbv beta in E.
      rewrite Rminus_0_r in E. rewrite E; unfold I.
      + rewrite Nat.eqb_refl; ring.
      + intros j _ ne. rewrite (proj2 (Nat.eqb_neq j i)) by auto. ring. }
  assert (form : forall u v, dot d v (fun i => dot d (A i) u) =
    sum n (fun k => w k * (dot d (row D k) u * dot d (row D k) v)) + lambda * dot d u v).
  { intros u v. unfold dot at 1. rewrite (sum_ext d _ (fun i =>
      sum n (fun k => w k * dot d (row D k) u * (row D k i * v i)) + lambda * (u i * v i))).
    - rewrite sum_plus, sum_scale, sum_swap. f_equal.
      apply sum_ext; intros k Hk. rewrite sum_scale. unfold dot; ring.
    - intros i Hi. rewrite (AI i u Hi), Rmult_plus_distr_l, <- sum_scale. f_equal; [| ring].
      apply sum_ext; intros; ring. }
  destruct (linear_system d A (fun i => sum n (fun k => w k * label D k * row D k i)) lambda L) as [theta T].
  { intros u. rewrite form.
    assert (0 <= sum n (fun k => w k * (dot d (row D k) u * dot d (row D k) u))); [| lra].
    apply sum_nonneg; intros k Hk. apply Rmult_le_pos; [auto | nra]. }
  exists theta. intros other. rewrite <- (line_end theta other), loss_line.
  set (u := minus other theta).
  assert (E : lambda * dot d theta u = sum n (fun j => w j * (residual d D j theta * dot d (row D j) u))).
  { assert (F := form theta u).
    assert (G : dot d u (fun i => dot d (A i) theta) = sum n (fun k => w k * (label D k * dot d (row D k) u))).
    { unfold dot at 1. rewrite (sum_ext d _ (fun i => sum n (fun k => w k * label D k * (row D k i * u i)))).
      - rewrite sum_swap. apply sum_ext; intros k Hk. rewrite sum_scale. unfold dot; ring.
      - intros i Hi. rewrite (T i Hi), <- sum_scale. apply sum_ext; intros; ring. }
    unfold residual. rewrite (sum_ext n _ (fun k => w k * (label D k * dot d (row D k) u)
      - w k * (dot d (row D k) theta * dot d (row D k) u))) by (intros; ring).
    rewrite sum_minus. lra. }
  assert (0 <= sum n (fun j => w j * (dot d (row D j) u)^2)).
  { apply sum_nonneg; intros k Hk. apply Rmult_le_pos; [auto | apply pow2_ge_0]. }
  assert (Q := dot_square_nonneg d u). nra.
Qed.

Theorem minimizer_unique n d w lambda D theta theta' :
  is_weighting n w -> 0 < lambda ->
  minimizer n d w lambda D theta -> minimizer n d w lambda D theta' ->
  norm d (minus theta theta') = 0.
Proof.
  intros W L M M'. apply Rle_antisym; [| apply norm_nonneg].
  eapply Rle_trans; [apply stability with (gamma := 2 * lambda)
    (G := loss n d w lambda D) (g := fun _ => 0) (v := zero) |]; auto.
  - lra.
  - apply loss_strongly_convex; auto.
  - intros u. rewrite dot_sym, dot_zero. apply derivable_pt_lim_const.
  - intros x. specialize (M x). lra.
  - unfold norm at 1. rewrite dot_zero, sqrt_0. right; field; lra.
Qed.

(* There is a supremum. *)
Theorem sensitivity_supremum_exists n d w lambda i :
  is_weighting n w -> 0 < lambda -> (i < n)%nat ->
  exists Delta, is_lub (moves n d w lambda i) Delta.
Proof.
  intros W L Hi. destruct (completeness (moves n d w lambda i)) as [Delta H]; [| | exists Delta; auto].
  - exists (w i * constant d lambda (norm_bound d lambda)).
    intros m (D & D' & theta & theta' & dom & dom' & Nb & M & M' & ->).
    apply sensitivity_published with (n := n) (D := D) (D' := D'); auto.
  - set (D := {| row := fun _ => zero; label := fun _ => 0 |}).
    assert (dom : in_domain n d D) by (apply whole_domain; intros; simpl; unfold zero; lra).
    destruct (minimizer_exists n d w lambda D W L) as [theta M].
    assert (Nb : neighbors n d i D D) by (intros j _ _; auto).
    exists (norm d (minus theta theta)), D, D, theta, theta. auto 10.
Qed.
