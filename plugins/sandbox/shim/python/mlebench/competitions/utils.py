"""Tools of graders and preparers, for tables and arrays that the caller has.

Python 3.8 is enough; numpy, pandas and others are imported when they are needed.
"""

from mlebench._tools import get_logger
from mlebench.grade_helpers import InvalidSubmissionError

logger = get_logger(__name__)


def _need(table, columns, what):
    """Refuses a submission without the columns."""
    lacking = [column for column in columns if column not in table.columns]
    if lacking:
        raise InvalidSubmissionError("%s has no column %s" % (what, ", ".join(map(repr, lacking))))


def df_to_one_hot(df, id_column, target_column, classes):
    """A table of the ids and a column of 0 and 1 for each class."""
    import pandas

    out = pandas.DataFrame({name: (df[target_column] == name).astype(int) for name in classes}, index=df.index)
    out.insert(0, id_column, df[id_column])
    return out


def one_hot_dfs_to_log_loss_inputs(submission_one_hot, answers_one_hot, id_column="id", apply_softmax=True):
    """The arrays y_true and y_pred of two one-hot tables, with rows in the order of their ids."""
    _need(submission_one_hot, answers_one_hot.columns, "The submission")
    assert id_column in answers_one_hot.columns, "the answers have no column %r" % id_column
    truth = answers_one_hot.sort_values(id_column).reset_index(drop=True)
    guess = submission_one_hot[list(answers_one_hot.columns)].sort_values(id_column).reset_index(drop=True)
    assert guess[id_column].tolist() == truth[id_column].tolist(), "the ids of submission and answers differ"
    y_true = truth.drop(columns=[id_column]).to_numpy()
    y_pred = guess.drop(columns=[id_column]).to_numpy()
    if apply_softmax and is_one_hot_encoded(y_pred):
        logger.warning("The submission is one-hot already: no softmax is applied.")
    elif apply_softmax:
        from scipy.special import softmax

        y_pred = softmax(y_pred, axis=-1)
    return {"y_true": y_true, "y_pred": y_pred}


def is_one_hot_encoded(xs):
    """Whether a matrix has only 0 and 1, and one 1 in each row."""
    import numpy

    assert isinstance(xs, numpy.ndarray) and xs.ndim == 2, "a matrix is needed"
    return bool(numpy.isin(xs, (0, 1)).all() and numpy.allclose(xs.sum(axis=-1), 1))


def rle_decode(rle_string, height, width):
    """A mask of pairs of start and length, which count from 1, down the columns."""
    import numpy

    assert isinstance(rle_string, str), "a string is needed, not %r" % (rle_string,)
    numbers = [int(word) for word in rle_string.split()]
    starts, lengths = numbers[0::2], numbers[1::2]
    assert starts == sorted(starts), "the starts are not in order"
    assert all(n > 0 for n in starts + lengths), "starts and lengths are positive"
    flat = numpy.zeros(height * width, dtype=bool)
    if numbers:  # numpy refuses an odd count of numbers, or repeats the one length
        begins = numpy.array(starts) - 1
        for begin, end in zip(begins, begins + lengths):
            assert not flat[begin:end].any(), "the runs overlap"
            flat[begin:end] = True
    return flat.reshape((width, height)).T


def rle_encode(x, fg_val=1):
    """The list of starts and lengths of a mask of height and width."""
    import numpy

    inside = numpy.concatenate([[False], x.T.reshape(-1) == fg_val, [False]])
    edges = numpy.flatnonzero(inside[1:] != inside[:-1])
    pairs = []
    for start, end in zip(edges[0::2], edges[1::2]):
        pairs += [start + 1, end - start]
    return pairs


def rles_to_masks(rl_encodings, image_heights, image_widths):
    return [rle_decode(*one) for one in zip(rl_encodings, image_heights, image_widths)]


def get_ids_from_tf_records(tf_record_path, id_feature="image_name"):
    """A feature of all records of a TFRecord file; tensorflow is needed."""
    import tensorflow

    ids = []
    for record in tensorflow.data.TFRecordDataset(str(tf_record_path)):
        example = tensorflow.train.Example.FromString(record.numpy())
        ids.append(example.features.feature[id_feature].bytes_list.value[0].decode("utf-8"))
    return ids


def _aligned(submission, answers, target, key):
    """Both tables by id, after a check of their columns and rows."""
    for name in (target, key):
        assert name in answers.columns, "the answers have no column %r" % name
    _need(submission, (target, key), "The submission")
    if len(submission) != len(answers):
        raise InvalidSubmissionError("The submission has %d rows, the answers %d" % (len(submission), len(answers)))
    submission, answers = submission.sort_values(key), answers.sort_values(key)
    if (submission[key].values != answers[key].values).any():
        raise InvalidSubmissionError("The values of %r in submission and answers differ" % key)
    return submission, answers


def prepare_for_accuracy_metric(submission, answers, target_column, id_column):
    submission, answers = _aligned(submission, answers, target_column, id_column)
    return {"y_true": answers[target_column].to_numpy(), "y_pred": submission[target_column].to_numpy()}


def prepare_for_auroc_metric(submission, answers, id_col, target_col):
    import pandas

    submission, answers = _aligned(submission, answers, target_col, id_col)
    try:
        scores = pandas.to_numeric(submission[target_col])
    except (TypeError, ValueError):
        raise InvalidSubmissionError("The column %r has values that are not numbers" % target_col)
    if scores.min() < 0 or scores.max() > 1:
        raise InvalidSubmissionError("The column %r has values that are not from 0 to 1" % target_col)
    return {"y_true": answers[target_col].to_numpy(), "y_score": submission[target_col].to_numpy()}
