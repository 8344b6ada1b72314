-- +goose Up
-- Why users got nothing in a sale, for 30 days. Instances write after the rush what they remember.

-- A user's first final refusal in a sale on one instance. Several instances may each have one: the earliest counts.
CREATE TABLE IF NOT EXISTS tb_refusal (
    voucher_id  BIGINT      NOT NULL,
    user_id     BIGINT      NOT NULL,
    run         BIGINT      NOT NULL COMMENT 'as tb_sale_journal.run',
    refused_ms  BIGINT      NOT NULL COMMENT 'milliseconds since 1970, by the clock of Redis as the instance estimated it',
    within_ms   INT         NOT NULL COMMENT 'by how much that may be too early',
    code        VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'of the answer',
    create_time DATETIME(3) NOT NULL COMMENT 'when it was written',
    PRIMARY KEY (voucher_id, user_id, run),
    KEY idx_refusal_ms (voucher_id, refused_ms),
    KEY idx_refusal_user (user_id),
    KEY idx_refusal_created (create_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What one instance noted of a sale beside the refusals.
CREATE TABLE IF NOT EXISTS tb_sale_journal (
    voucher_id  BIGINT      NOT NULL,
    run         BIGINT      NOT NULL COMMENT 'random number of the memory of one process',
    users       BIGINT      NOT NULL COMMENT 'whose refusals it remembers',
    written     BIGINT      NOT NULL COMMENT 'how many of them are written',
    missed      BIGINT      NOT NULL COMMENT 'refusals for which there was no room',
    sold_out    TEXT        NOT NULL COMMENT 'JSON: from and to of each time without a unit, milliseconds since 1970, by the clock of Redis',
    more_spans  BIGINT      NOT NULL COMMENT 'times without a unit for which there was no room',
    create_time DATETIME(3) NOT NULL,
    write_time  DATETIME(3) NOT NULL,
    PRIMARY KEY (voucher_id, run),
    KEY idx_sale_journal_written (write_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
