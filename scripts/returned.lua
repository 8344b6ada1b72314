-- Prelude of scripts that give units back to a sale. Units that come back to a sold-out sale wait until no instance
-- answers SOLD_OUT from its cache any more (rule 11, docs/architecture.md).

local MAX_DELAY = 60000 -- for how many milliseconds units wait at most

-- past tells whether a time has come: also one further off than MAX_DELAY, which comes from a clock that was set back
-- since, as by a failover to a server whose clock is behind.
local function past(time, now)
  return now >= time or time - now > MAX_DELAY
end

-- ripen returns stock and returned units, with those that have waited in the stock.
local function ripen(stock, returned, returned_at, now)
  if returned > 0 and past(returned_at, now) then
    return stock + returned, 0
  end
  return stock, returned
end

-- give_back returns stock, returned units, and when these can be sold, after some more units came back. Units that come
-- back while others wait wait with them: who has "sold out" cached was answered so before the first of them came back.
local function give_back(units, stock, returned, returned_at, now, delay)
  if stock > 0 then
    return stock + units, returned, returned_at
  elseif returned > 0 then
    return stock, returned + units, returned_at
  end
  return stock, units, now + delay
end
