(* What the proofs use of an integral, so that they hold for every one that has it: it respects order
   and factors. The Lebesgue integral does, and so does a sum. *)

From Book Require Import Vectors.

Record integral (X : Type) := {
  integrable : (X -> R) -> Prop;
  value : (X -> R) -> R;
  monotone : forall f g, integrable f -> integrable g ->
    (forall x, f x <= g x) -> value f <= value g;
  homogeneous : forall a f, integrable f ->
    integrable (fun x => a * f x) /\ value (fun x => a * f x) = a * value f
}.

Arguments integrable {X}.
Arguments value {X}.
Arguments monotone {X}.
Arguments homogeneous {X}.

(* A set of outputs, by its indicator: 1 in the set and 0 outside. *)
Definition event {X : Type} (S : X -> R) : Prop := forall x, S x = 0 \/ S x = 1.

(* The probability of S under the density p. *)
Definition Pr {X : Type} (I : integral X) (p S : X -> R) : R := value I (fun x => S x * p x).

(* A ratio of densities bounds the ratio of the probabilities of every event. *)
Lemma density_ratio {X : Type} (I : integral X) (p q S : X -> R) (a : R) :
  event S -> integrable I (fun x => S x * p x) -> integrable I (fun x => S x * q x) ->
  (forall x, p x <= a * q x) -> Pr I p S <= a * Pr I q S.
Proof.
  intros E Ip Iq H. destruct (homogeneous I a _ Iq) as [Iaq V]. unfold Pr; rewrite <- V.
  apply monotone; auto. intros x. destruct (E x) as [-> | ->]; specialize (H x); lra.
Qed.

(* The definitions are not too narrow: every set has its indicator, and a sum over n points is an
   integral. *)
Lemma every_set_is_an_event {X : Type} (s : X -> bool) : event (fun x => if s x then 1 else 0).
Proof. intros x. destruct (s x); auto. Qed.

Lemma sum_is_an_integral n :
  exists I : integral nat, forall f, integrable I f /\ value I f = sum n f.
Proof.
  unshelve eexists.
  - refine {| integrable := fun _ => True; value := sum n |}.
    + intros f g _ _ H. apply sum_le; auto.
    + intros a f _. split; auto. apply sum_scale.
  - intros f; simpl; auto.
Qed.
