-- +goose Up
-- What rehearsals have measured, which is kept when their sales are gone.
CREATE TABLE IF NOT EXISTS tb_rehearsal (
    voucher_id  BIGINT      NOT NULL COMMENT 'of the rehearsal, which is removed soon',
    of_voucher  BIGINT      NOT NULL COMMENT 'whose sale it rehearses',
    admin_id    BIGINT      NOT NULL COMMENT 'who started it; 0: the command',
    issued      BIGINT      NOT NULL,
    begin_time  DATETIME(3) NOT NULL,
    end_time    DATETIME(3) NOT NULL COMMENT 'at the latest',
    report_time DATETIME(3) NULL COMMENT 'when its crowd reported last',
    done        BOOLEAN     NOT NULL COMMENT '1: the crowd is through, and the figures are final',
    figures     TEXT        NOT NULL COMMENT 'that the crowd has reported, as JSON; empty before',
    PRIMARY KEY (voucher_id),
    KEY idx_rehearsal_of (of_voucher, voucher_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
