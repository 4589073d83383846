"""Metrics of arrays and lists that the caller has; numpy is imported when it is needed."""


def average_precision_at_k(actual, predicted, k):
    """Average precision of the first k predictions, in order; those that repeat count once."""
    if not actual:
        return 0.0
    found, total, seen = 0.0, 0.0, []
    for place, one in enumerate(predicted[:k], start=1):
        if one in actual and one not in seen:
            found += 1.0
            total += found / place
        seen.append(one)
    return total / min(len(actual), k)


def mean_average_precision_at_k(actual, predicted, k):
    """Mean of average_precision_at_k over pairs of a set of labels and a list of predictions."""
    import numpy

    return numpy.mean([average_precision_at_k(a, p, k) for a, p in zip(actual, predicted)])


def dice_coefficient(predicted_mask, true_mask, both_empty_value=float("nan")):
    """Twice the overlap of two binary masks over their sizes."""
    import numpy

    assert predicted_mask.shape == true_mask.shape, "the masks have the shapes %s and %s" % (
        predicted_mask.shape,
        true_mask.shape,
    )
    sizes = numpy.sum(predicted_mask) + numpy.sum(true_mask)
    if sizes == 0:
        return both_empty_value
    return 2 * numpy.sum(predicted_mask * true_mask) / sizes
