-- +goose Up
-- What was around a sale when it began: versions, numbers and settings of instances, Redis and database.
CREATE TABLE IF NOT EXISTS tb_sale_setup (
    voucher_id  BIGINT      NOT NULL,
    begin_time  DATETIME(3) NOT NULL COMMENT 'of the sale then, or when it was created, if that was later',
    setup       TEXT        NOT NULL COMMENT 'JSON: name to value',
    create_time DATETIME(3) NOT NULL COMMENT 'when it was read',
    PRIMARY KEY (voucher_id, begin_time),
    KEY idx_setup_begin (begin_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
