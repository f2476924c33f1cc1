def numbers_between(found, n, low, high):
    found = np.asarray(found)
    if found.shape != (n,):
        return False
    return all(low <= one <= high for one in found)

def rising(found):
    return all(one < other for one, other in zip(found, found[1:]))

def call(answer, notes):
    def noted(x):
        text = x.tolist() if hasattr(x, "tolist") else x
        notes[:] = [f"{answer.__name__}({text})"]
        found = answer(x)
        back = found.tolist() if hasattr(found, "tolist") else found
        notes.append(f"# it gave {back}")
        return found
    return noted

def judge(exercise, unseen, demands, answer):
    faults = []
    for sentence, demand in demands:
        notes = []
        try:
            met = demand(call(answer, notes))
        except NotImplementedError:
            faults, demands = ["not written yet"], []
            break
        except AttributeError as error:
            if "does not run in the page" in str(error):
                raise
            met = False
            notes.append(f"# it raised {error}")
        except Exception as error:
            met = False
            notes.append(f"# it raised {type(error).__name__}: {error}")
        if not met:
            faults.append("\n    ".join([sentence] + notes))
    if faults:
        print(f"{exercise} fails its visible properties:")
        for fault in faults:
            print("- " + fault)
    else:
        print(f"{exercise}: {len(demands)} visible properties hold.")
        print(f"This does not mean that it is right: {unseen} more",
              "grade it.")

