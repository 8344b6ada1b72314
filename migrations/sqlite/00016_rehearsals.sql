-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_rehearsal (
    voucher_id  BIGINT   NOT NULL PRIMARY KEY,
    of_voucher  BIGINT   NOT NULL,
    admin_id    BIGINT   NOT NULL,
    issued      BIGINT   NOT NULL,
    begin_time  DATETIME NOT NULL,
    end_time    DATETIME NOT NULL,
    report_time DATETIME NULL,
    done        BOOLEAN  NOT NULL,
    figures     TEXT     NOT NULL
);
CREATE INDEX idx_rehearsal_of ON tb_rehearsal (of_voucher, voucher_id);
