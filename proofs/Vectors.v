(* Finite sums, and vectors of R^d with their lengths.

   A vector is a function of an index: x 0, x 1, ..., x (d - 1) are its entries. What the function
   says beyond d does not count. *)

Require Export Reals Lra Lia Psatz.
Open Scope R_scope.

(* --- finite sums ------------------------------------------------------------------------------ *)

(* sum n f is f 0 + f 1 + ... + f (n - 1). *)
Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S k => sum k f + f k
  end.

(* The first n values of f are above 0; at least 0. *)
Definition all_positive (n : nat) (f : nat -> R) : Prop := forall j, (j < n)%nat -> 0 < f j.
Definition all_nonneg (n : nat) (f : nat -> R) : Prop := forall j, (j < n)%nat -> 0 <= f j.

Lemma sum_ext n f g : (forall j, (j < n)%nat -> f j = g j) -> sum n f = sum n g.
Proof.
  induction n; simpl; intros H; auto. rewrite IHn, H; auto with arith.
Qed.

Lemma sum_le n f g : (forall j, (j < n)%nat -> f j <= g j) -> sum n f <= sum n g.
Proof.
  induction n; simpl; intros H. lra.
  apply Rplus_le_compat; auto with arith.
Qed.

Lemma sum_plus n f g : sum n (fun j => f j + g j) = sum n f + sum n g.
Proof. induction n; simpl; try rewrite IHn; lra. Qed.

Lemma sum_minus n f g : sum n (fun j => f j - g j) = sum n f - sum n g.
Proof. induction n; simpl; try rewrite IHn; lra. Qed.

Lemma sum_scale n a f : sum n (fun j => a * f j) = a * sum n f.
Proof. induction n; simpl; try rewrite IHn; lra. Qed.

Lemma sum_const n a : sum n (fun _ => a) = INR n * a.
Proof. induction n; simpl sum; [simpl; lra |]. rewrite IHn, S_INR; lra. Qed.

Lemma sum_zero n f : (forall j, (j < n)%nat -> f j = 0) -> sum n f = 0.
Proof. intros H. rewrite (sum_ext n f (fun _ => 0)) by auto. rewrite sum_const; lra. Qed.

Lemma sum_nonneg n f : (forall j, (j < n)%nat -> 0 <= f j) -> 0 <= sum n f.
Proof.
  intros H. rewrite <- (sum_zero n (fun _ => 0)) by auto. apply sum_le; auto.
Qed.

Lemma sum_pos n f : (0 < n)%nat -> (forall j, (j < n)%nat -> 0 < f j) -> 0 < sum n f.
Proof.
  destruct n; [lia |]. intros _ H; simpl.
  assert (0 <= sum n f) by (apply sum_nonneg; intros; apply Rlt_le; auto with arith).
  assert (0 < f n) by auto. lra.
Qed.

Lemma sum_abs n f : Rabs (sum n f) <= sum n (fun j => Rabs (f j)).
Proof.
  induction n; simpl. rewrite Rabs_R0; lra.
  eapply Rle_trans; [apply Rabs_triang | lra].
Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (f i)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n; simpl.
  - symmetry; apply sum_zero; auto.
  - rewrite IHn, <- sum_plus; reflexivity.
Qed.

Lemma sum_change_one n f g i :
  (i < n)%nat -> (forall j, (j < n)%nat -> j <> i -> f j = g j) ->
  sum n f - sum n g = f i - g i.
Proof.
  induction n; simpl; intros Hi H; [lia |].
  destruct (Nat.eq_dec i n) as [-> | ne].
  - rewrite (sum_ext n f g); [lra |]. intros; apply H; lia.
  - rewrite <- (IHn ltac:(lia)) by (intros; apply H; lia).
    rewrite (H n) by lia. lra.
Qed.

Lemma term_le_sum n f i :
  (i < n)%nat -> (forall j, (j < n)%nat -> 0 <= f j) -> f i <= sum n f.
Proof.
  intros Hi H.
  assert (E := sum_change_one n f (fun j => if Nat.eq_dec j i then 0 else f j) i Hi).
  cbv beta in E. destruct (Nat.eq_dec i i) as [_ | ne]; [| congruence].
  assert (0 <= sum n (fun j => if Nat.eq_dec j i then 0 else f j)).
  { apply sum_nonneg; intros j Hj. destruct (Nat.eq_dec j i); [lra | auto]. }
  rewrite <- (Rminus_0_r (f i)), <- E; [lra |].
  intros j _ ne. destruct (Nat.eq_dec j i); congruence.
Qed.

Lemma sum_le_more k n f :
  (k <= n)%nat -> (forall j, (j < n)%nat -> 0 <= f j) -> sum k f <= sum n f.
Proof.
  induction n; intros Hk H.
  - replace k with 0%nat by lia. lra.
  - destruct (Nat.eq_dec k (S n)) as [-> | ne]; [lra |]. simpl.
    assert (0 <= f n) by (apply H; lia).
    assert (sum k f <= sum n f) by (apply IHn; [lia | intros; apply H; lia]). lra.
Qed.

Lemma sum_zero_inv n f :
  (forall j, (j < n)%nat -> 0 <= f j) -> sum n f = 0 -> forall j, (j < n)%nat -> f j = 0.
Proof.
  intros H E j Hj. assert (A := term_le_sum n f j Hj H). specialize (H j Hj). lra.
Qed.

Lemma exp_monotone a b : a <= b -> exp a <= exp b.
Proof. intros [H | <-]; [left; apply exp_increasing; auto | lra]. Qed.

(* --- vectors ---------------------------------------------------------------------------------- *)

Definition vector := nat -> R.

Definition zero : vector := fun _ => 0.
Definition plus (x y : vector) : vector := fun j => x j + y j.
Definition minus (x y : vector) : vector := fun j => x j - y j.
Definition scale (a : R) (x : vector) : vector := fun j => a * x j.

(* The inner product, and the length of a vector. *)
Definition dot (d : nat) (x y : vector) : R := sum d (fun j => x j * y j).
Definition norm (d : nat) (x : vector) : R := sqrt (dot d x x).

Lemma dot_sym d x y : dot d x y = dot d y x.
Proof. apply sum_ext; intros; ring. Qed.

Lemma dot_plus d x y z : dot d x (plus y z) = dot d x y + dot d x z.
Proof. unfold dot, plus. rewrite <- sum_plus. apply sum_ext; intros; ring. Qed.

Lemma dot_minus d x y z : dot d x (minus y z) = dot d x y - dot d x z.
Proof. unfold dot, minus. rewrite <- sum_minus. apply sum_ext; intros; ring. Qed.

Lemma dot_scale d x a y : dot d x (scale a y) = a * dot d x y.
Proof. unfold dot, scale. rewrite <- sum_scale. apply sum_ext; intros; ring. Qed.

Lemma dot_zero d x : dot d x zero = 0.
Proof. apply sum_zero; intros; unfold zero; ring. Qed.

Lemma dot_square_nonneg d x : 0 <= dot d x x.
Proof. apply sum_nonneg; intros; nra. Qed.

Lemma norm_nonneg d x : 0 <= norm d x.
Proof. apply sqrt_pos. Qed.

Lemma norm_square d x : norm d x * norm d x = dot d x x.
Proof. apply sqrt_sqrt, dot_square_nonneg. Qed.

Lemma norm_ext d x y : (forall j, (j < d)%nat -> x j = y j) -> norm d x = norm d y.
Proof. intros H. unfold norm, dot. f_equal. apply sum_ext; intros; rewrite H; auto. Qed.

Lemma dot_combination d a b x y :
  dot d (minus (scale a x) (scale b y)) (minus (scale a x) (scale b y)) =
  a * a * dot d x x - 2 * a * b * dot d x y + b * b * dot d y y.
Proof.
  rewrite dot_minus, !dot_scale, (dot_sym d _ x), (dot_sym d _ y), !dot_minus, !dot_scale.
  rewrite (dot_sym d y x). ring.
Qed.

Lemma dot_le_norms d x y : dot d x y <= norm d x * norm d y.
Proof.
  assert (P := dot_combination d (norm d y) (norm d x) x y).
  assert (Q := dot_square_nonneg d (minus (scale (norm d y) x) (scale (norm d x) y))).
  rewrite P, <- !norm_square in Q.
  assert (A := norm_nonneg d x). assert (B := norm_nonneg d y).
  destruct (Rle_lt_or_eq_dec 0 _ A) as [Ap | A0].
  - destruct (Rle_lt_or_eq_dec 0 _ B) as [Bp | B0].
    + assert (0 < norm d x * norm d y) by nra. nra.
    + assert (Z : forall j, (j < d)%nat -> y j * y j = 0).
      { apply sum_zero_inv; [intros; nra |]. fold (dot d y y). rewrite <- norm_square; nra. }
      right. rewrite <- B0, Rmult_0_r. apply sum_zero; intros j Hj. specialize (Z j Hj).
      assert (y j = 0) by nra. nra.
  - assert (Z : forall j, (j < d)%nat -> x j * x j = 0).
    { apply sum_zero_inv; [intros; nra |]. fold (dot d x x). rewrite <- norm_square; nra. }
    right. rewrite <- A0, Rmult_0_l. apply sum_zero; intros j Hj. specialize (Z j Hj).
    assert (x j = 0) by nra. nra.
Qed.

Lemma norm_scale d a x : norm d (scale a x) = Rabs a * norm d x.
Proof.
  unfold norm. rewrite dot_scale, dot_sym, dot_scale, <- Rmult_assoc.
  rewrite sqrt_mult_alt by nra. f_equal. apply sqrt_Rsqr_abs.
Qed.

Theorem cauchy_schwarz d x y : Rabs (dot d x y) <= norm d x * norm d y.
Proof.
  unfold Rabs; destruct (Rcase_abs (dot d x y)).
  - assert (H := dot_le_norms d x (scale (-1) y)).
    rewrite dot_scale, norm_scale, (Rabs_left (-1)) in H by lra. lra.
  - apply dot_le_norms.
Qed.

Theorem triangle d x y : norm d (plus x y) <= norm d x + norm d y.
Proof.
  assert (A := norm_nonneg d x). assert (B := norm_nonneg d y).
  assert (C := dot_le_norms d x y).
  apply Rsqr_incr_0_var; [| lra]. unfold Rsqr.
  rewrite norm_square, dot_plus, (dot_sym d _ x), (dot_sym d _ y), !dot_plus.
  rewrite (dot_sym d y x), <- !norm_square. nra.
Qed.

Lemma norm_minus_sym d x y : norm d (minus x y) = norm d (minus y x).
Proof.
  replace (norm d (minus y x)) with (Rabs (-1) * norm d (minus y x)) by (rewrite Rabs_left; lra).
  rewrite <- norm_scale.
  apply norm_ext; intros; unfold minus, scale; ring.
Qed.

Lemma norm_difference d x y z : norm d (minus x z) <= norm d (minus x y) + norm d (minus y z).
Proof.
  rewrite <- (norm_ext d (plus (minus x y) (minus y z)) (minus x z)).
  - apply triangle.
  - intros; unfold plus, minus; ring.
Qed.
